calibrate calibrate_above_memory_peak.measurements.csv --hardware ../../configs/hardware/h200.yaml
