// Evicts the data of earlier work from the L2.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

constexpr int64_t kFlushBytes = int64_t{256} << 20;  // the L2 of an H200 has 50-60 MB

// Reads `zeros` (kFlushBytes bytes, all zero). Writing would leave dirty lines, and the following run would pay for
// their write-back.
void launch_evict_l2(cudaStream_t stream, uint4* zeros, int sms);
