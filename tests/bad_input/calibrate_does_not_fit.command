calibrate calibrate_does_not_fit.measurements.csv --hardware ../../configs/hardware/h200.yaml
