calibrate calibrate_fit_wrong.yaml --library ../../configs/libraries/nccl.yaml
