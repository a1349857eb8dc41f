// Checks every NCCL call, as cuda_check.hpp does for CUDA. Only for programs that are built with NCCL.
#pragma once

#include <nccl.h>

#include <cstdio>
#include <cstdlib>

#define NCCL_CHECK(call)                                                                                         \
  do {                                                                                                           \
    const ncclResult_t nccl_check_status = (call);                                                               \
    if (nccl_check_status != ncclSuccess) {                                                                      \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, ncclGetErrorString(nccl_check_status)); \
      std::exit(1);                                                                                              \
    }                                                                                                            \
  } while (0)
