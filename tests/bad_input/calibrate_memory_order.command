calibrate calibrate_memory_order.measurements.csv --hardware ../../configs/hardware/h200.yaml
