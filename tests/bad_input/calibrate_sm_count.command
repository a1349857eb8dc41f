calibrate calibrate_sm_count.measurements.csv --hardware ../../configs/hardware/h200.yaml
