calibrate calibrate_library_too_many_gpus.measurements.csv --hardware ../../configs/hardware/h200.yaml --library ../../configs/libraries/nccl.yaml
