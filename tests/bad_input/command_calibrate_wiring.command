calibrate ../data/tiny.measurements.csv --hardware ../../configs/hardware/h200.yaml --wiring ethernet
