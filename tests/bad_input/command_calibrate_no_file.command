calibrate nowhere.measurements.csv --hardware ../../configs/hardware/h200.yaml
