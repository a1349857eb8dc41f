calibrate calibrate_impossible_point.measurements.csv --hardware ../../configs/hardware/h200.yaml
