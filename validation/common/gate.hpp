// Holds a stream on every GPU until the host has enqueued everything, then lets all GPUs start together.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "device_clock.cuh"

// Words in device memory by which GPUs wait for each other: `arrived` counts the WGs of this GPU, and peers write
// ready[source].
struct Gate {
  uint32_t* arrived;           // on this GPU, zeroed before the launch
  uint32_t* ready[kMaxRanks];  // ready[p] is the array on GPU p, with one word per source
};

// Ends when the host has written `epoch` to *host_flag and the gates of all `ranks` GPUs have seen it. The following
// work therefore starts within about a microsecond on all GPUs, and no launch cost of the host is measured. After
// kSpinLimitNs the gate gives up and sets *gave_up.
void launch_gate(cudaStream_t stream, const volatile uint32_t* host_flag, const Gate& gate, int rank, int ranks,
                 uint32_t epoch, int* gave_up);
