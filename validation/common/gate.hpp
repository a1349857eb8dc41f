// Holds back a stream on every GPU until the host has enqueued everything, then lets all GPUs start together.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "device_clock.cuh"

// Device words that GPUs use to meet: arrived counts the WGs of this GPU, ready[source] is written by peers.
struct Gate {
  uint32_t* arrived;           // own, zeroed before the launch
  uint32_t* ready[kMaxRanks];  // ready[p]: the array of GPU p, one word a source
};

// Ends when the host has written `epoch` to *host_flag and the gates of all `ranks` GPUs have seen it, so that what
// follows starts within about a microsecond everywhere and no launch cost of the host is timed. After kSpinLimitNs it
// gives up and sets *gave_up.
void launch_gate(cudaStream_t stream, const volatile uint32_t* host_flag, const Gate& gate, int rank, int ranks,
                 uint32_t epoch, int* gave_up);
