calibrate calibrate_no_library_rows.measurements.csv --hardware ../../configs/hardware/h200.yaml --library ../../configs/libraries/nccl.yaml
