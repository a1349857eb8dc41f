// Empties the L2 of what came before.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

constexpr int64_t kFlushBytes = int64_t{256} << 20;  // the L2 of an H200 has 50-60 MB

// Reads `zeros` (kFlushBytes, all zero). Writing would leave dirty lines, which the run would then pay for.
void launch_evict_l2(cudaStream_t stream, uint4* zeros, int sms);
