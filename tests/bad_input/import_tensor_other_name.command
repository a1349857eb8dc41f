import tensor ../fuzz/seeds/tensor/fp32_npy
