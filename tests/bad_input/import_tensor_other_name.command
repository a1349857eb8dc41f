import tensor ../fuzz/corpus/tensor/fp32_npy
