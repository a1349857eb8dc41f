// Streaming kernels that read one or two arrays of floats and write one.
#pragma once

#include <memory>

#include "gemm.hpp"
#include "work.hpp"

constexpr int kStreamThreads = 256;
// vectors of 16 bytes that a thread processes in one iteration
constexpr int kStreamVectors = 4;
constexpr int64_t kStreamChunk = int64_t{kStreamThreads} * kStreamVectors * 16;  // bytes per WG and iteration
constexpr int kStreamWgsPerSm = 8;                                               // if grid_stride is true

struct StreamShape {
  int inputs = 1;           // 1: out = a + 1; 2: out = a + b
  int64_t bytes = 0;        // of each array
  bool grid_stride = true;  // true: kStreamWgsPerSm WGs on each of `sms` SMs; false: one WG per chunk
  int sms = 0;
};

// Returns the work that reads a (and b, with two inputs) of the operands and writes c, on every GPU.
std::unique_ptr<Work> make_stream(const Operands& operands, const StreamShape& shape);
