calibrate ../data/tiny.measurements.csv --hardware ../../configs/hardware/h200.yaml --out nowhere/h.yaml
