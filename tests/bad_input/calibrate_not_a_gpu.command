calibrate calibrate_not_a_gpu.measurements.csv --hardware ../data/tiny_nic.yaml
