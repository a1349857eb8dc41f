calibrate calibrate_littles_law.measurements.csv --hardware ../../configs/hardware/h200.yaml
