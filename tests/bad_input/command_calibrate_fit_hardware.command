calibrate calibrate_fit_none.yaml --library ../../configs/libraries/nccl.yaml --hardware ../../configs/hardware/h200.yaml
