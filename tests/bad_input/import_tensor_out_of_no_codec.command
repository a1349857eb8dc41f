import tensor import_tensor_big_endian.npy --out x.yaml
