calibrate calibrate_too_many_peers.measurements.csv --hardware ../../configs/hardware/h200.yaml
