// Code that the programs of this folder share: the shape of a GEMM from its sizes, and operands whose words are all
// equal.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cuda_check.hpp"
#include "gemm.hpp"

inline ComputeShape gemm_shape(int m, int n, int k) {
  ComputeShape shape;
  shape.name = std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k);
  shape.m = m;
  shape.n = n;
  shape.k = k;
  return shape;
}

// Fills the first `bytes` bytes of a and b on every GPU with the bf16 word `word`.
inline void fill(const Operands& operands, int64_t bytes, uint16_t word) {
  for (int gpu = 0; gpu < operands.gpus(); ++gpu) {
    CUDA_CHECK(cudaSetDevice(gpu));
    std::vector<uint16_t> words(size_t(bytes / 2), word);
    CUDA_CHECK(cudaMemcpy(operands.a(gpu), words.data(), size_t(bytes), cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaMemcpy(operands.b(gpu), words.data(), size_t(bytes), cudaMemcpyHostToDevice));
  }
}
