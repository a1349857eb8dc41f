// Gates: kernels that hold a stream on every GPU until the host has enqueued all work, so that all GPUs start together.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "device_clock.cuh"

// Words in device memory by which the GPUs wait for each other. The gate kernel uses only `ready`. A kernel in which
// all WGs of all GPUs wait for each other also counts its WGs in `arrived`.
struct Gate {
  uint32_t* arrived;           // on this GPU, zeroed before the launch
  uint32_t* ready[kMaxRanks];  // ready[p] is the array on GPU p, with one word per source
};

// Enqueues a gate: a kernel of one thread that ends when the host has written `epoch` to *host_flag and the gates of
// all `ranks` GPUs have seen it. Work after the gates therefore starts within about a microsecond on all GPUs, and the
// host's launch cost is not measured. After kSpinLimitNs the gate sets *gave_up and ends.
void launch_gate(cudaStream_t stream, const volatile uint32_t* host_flag, const Gate& gate, int rank, int ranks,
                 uint32_t epoch, int* gave_up);
