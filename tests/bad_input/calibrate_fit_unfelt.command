calibrate calibrate_fit_unfelt.yaml --library ../../configs/libraries/nccl.yaml
