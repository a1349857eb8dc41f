calibrate calibrate_fit_none.yaml --library ../../configs/libraries/nccl.yaml
