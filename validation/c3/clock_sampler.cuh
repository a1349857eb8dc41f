// Reads the clock of an SM: a workgroup of one warp records the SM's cycle counter and the GPU's timer, while other
// kernels run on the GPU.
#pragma once

#include <cstdint>

#include "device_clock.cuh"

__device__ inline ClockSample clock_sample() { return {global_ns(), uint64_t(clock64())}; }

// Returns the average clock of an SM between two of its samples, in MHz.
inline double clock_between(const ClockSample& first, const ClockSample& last) {
  return double(last.cycles - first.cycles) / double(last.ns - first.ns) * 1e3;
}

// Takes a sample of the clock every `interval_ns`. If `growth` is not 0, each interval is longer by the time since the
// first sample divided by `growth`. Ends after `count` samples, and earlier if *stop equals `epoch` or kSpinLimitNs
// have passed. If it ends earlier, the time 0 marks the end of the samples.
static __global__ void sample_clock(ClockSample* samples, int count, uint64_t interval_ns, uint64_t growth,
                                    const uint32_t* stop, uint32_t epoch) {
  if (threadIdx.x != 0) return;
  const uint64_t begin = global_ns();
  uint64_t next = begin;
  for (int i = 0; i < count; ++i) {
    while (global_ns() < next) {
    }
    samples[i] = clock_sample();
    next += interval_ns + (growth > 0 ? (next - begin) / growth : 0);
    if (load_relaxed_sys(stop) == epoch || next - begin > kSpinLimitNs) {
      samples[i + 1 < count ? i + 1 : i].ns = 0;
      return;
    }
  }
}

static __global__ void stamp_time(uint64_t* at) { *at = global_ns(); }
