calibrate calibrate_fit_no_section.yaml --library ../../configs/libraries/rccl.yaml
