calibrate calibrate_too_many_flops.measurements.csv --hardware ../../configs/hardware/h200.yaml
