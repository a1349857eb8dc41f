calibrate calibrate_joined_first.measurements.csv calibrate_joined_twice.measurements.csv calibrate_joined_other.measurements.csv --hardware ../../configs/hardware/h200.yaml
