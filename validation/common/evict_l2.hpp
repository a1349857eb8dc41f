// Evicts the data of earlier work from the L2.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

constexpr int64_t kFlushBytes = int64_t{256} << 20;  // the L2 of an H200 has 50-60 MB

// Enqueues a kernel that reads `zeros` (kFlushBytes bytes, all zero). If it wrote them, their lines would be dirty in
// the L2, and the run after it would take longer because they must be written back.
void launch_evict_l2(cudaStream_t stream, uint4* zeros, int sms);
