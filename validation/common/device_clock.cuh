// Time stamps, flags at system scope, and waits with a time limit for kernels of validation/.
#pragma once

#include <cstdint>

// The largest number of GPUs in one process, and the size of the per-peer arrays in kernel parameters.
inline constexpr int kMaxRanks = 8;
// Threads of a WG, if a kernel has no number of its own. They form 8 warps, one for each of kMaxRanks GPUs to poll its
// flag. With 16 B per thread, a WG loads 4 KiB at a time.
inline constexpr int kThreads = 256;
// A wait for a flag that lasts longer is caused by a bug (a missing peer or a lost flag). The kernel then gives up, so
// that the GPU does not hang.
inline constexpr uint64_t kSpinLimitNs = 2'000'000'000;

// Returns the time of this GPU's global timer in ns. The timers of two GPUs differ by an offset, which clock_sync.hpp
// measures.
__device__ inline uint64_t global_ns() {
  uint64_t t;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t)::"memory");
  return t;
}

// The GPU's timer and the cycle counter of an SM, read at the same time.
struct ClockSample {
  uint64_t ns;
  uint64_t cycles;
};

__device__ inline uint32_t sm_id() {
  uint32_t id;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
  return id;
}

// Stores to a flag with release semantics at system scope. All stores of this WG that a barrier orders before it are
// visible to any thread, on any GPU, that acquires the flag.
__device__ inline void store_release_sys(uint32_t* flag, uint32_t value) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
}

// Orders this thread's earlier stores before its later ones, for all GPUs. Acquire-release order suffices for flags and
// is cheaper than the sequentially consistent __threadfence_system().
__device__ inline void fence_sys() { asm volatile("fence.acq_rel.sys;" ::: "memory"); }

__device__ inline void store_relaxed_sys(uint32_t* flag, uint32_t value) {
  asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(flag), "r"(value) : "memory");
}

__device__ inline uint32_t load_acquire_sys(const uint32_t* flag) {
  uint32_t value;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
  return value;
}

__device__ inline uint32_t load_relaxed_sys(const uint32_t* flag) {
  uint32_t value;
  asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
  return value;
}

// Spins until *flag == value, then returns true. After kSpinLimitNs it sets *gave_up and returns false.
__device__ inline bool wait_for_flag(const uint32_t* flag, uint32_t value, int* gave_up) {
  if (load_acquire_sys(flag) == value) return true;
  const uint64_t deadline = global_ns() + kSpinLimitNs;
  for (uint32_t spins = 1;; ++spins) {
    if (load_acquire_sys(flag) == value) return true;
    if ((spins & 1023U) == 0 && global_ns() > deadline) {
      *gave_up = 1;
      return false;
    }
  }
}

// Loads 16 bytes that are read only once, so this load should not evict other lines from the L1.
__device__ inline float4 load_streaming(const float4* p) {
  float4 v;
  asm volatile("ld.global.nc.L1::no_allocate.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
               : "l"(p));
  return v;
}
