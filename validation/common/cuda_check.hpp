// Checks every CUDA call, because an unnoticed failure would leave numbers that look plausible.
#pragma once

#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

#define CUDA_CHECK(call)                                                                                         \
  do {                                                                                                           \
    const cudaError_t cuda_check_status = (call);                                                                \
    if (cuda_check_status != cudaSuccess) {                                                                      \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(cuda_check_status)); \
      std::exit(1);                                                                                              \
    }                                                                                                            \
  } while (0)
