// Streaming kernels: one or two arrays of floats in, one out.
#pragma once

#include <memory>

#include "gemm.hpp"
#include "work.hpp"

constexpr int kStreamThreads = 256;
constexpr int kStreamVectors = 4;                                                // of 16 bytes a thread at once
constexpr int64_t kStreamChunk = int64_t{kStreamThreads} * kStreamVectors * 16;  // bytes of an array
constexpr int kStreamWgsPerSm = 8;                                               // of the grid-stride form

struct StreamShape {
  int inputs = 1;           // 1: out = a + 1; 2: out = a + b
  int64_t bytes = 0;        // of each array
  bool grid_stride = true;  // kStreamWgsPerSm WGs on each of `sms`; false: one WG a chunk
  int sms = 0;
};

// Reads the operands' a and b, writes c, on `gpus` GPUs.
std::unique_ptr<Work> make_stream(const Operands& operands, const StreamShape& shape);
