calibrate calibrate_above_link_rate.measurements.csv --hardware ../../configs/hardware/h200.yaml
