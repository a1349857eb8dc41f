calibrate calibrate_fit_none.yaml ../data/tiny.measurements.csv --library ../../configs/libraries/nccl.yaml
