calibrate calibrate_copy_too_fast.measurements.csv --hardware ../../configs/hardware/h200.yaml
