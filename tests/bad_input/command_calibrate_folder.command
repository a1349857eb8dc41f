calibrate . --hardware ../../configs/hardware/h200.yaml
