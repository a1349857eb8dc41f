// Ways of touching memory that several benchmarks share: hashed rows, batches of independent loads, and windows of
// time in which all WGs of all kernels of a GPU work at once.
#pragma once

#include "device_clock.cuh"
#include "harness.hpp"

__device__ inline uint32_t hash32(uint32_t x) {
  x *= 0x9e3779b1U;
  x ^= x >> 15;
  x *= 0x85ebca77U;
  return x ^ (x >> 13);
}

struct Peers {
  float4* base[kMaxRanks];
  int count;
};

// WGs per SM that leave registers for exactly one batch. Without such a bound the compiler saves registers by waiting
// for the first loads of a batch before it issues the last ones, as the disassembly shows.
constexpr int wgs_for_batch(int unroll) { return unroll >= 16 ? 2 : unroll == 8 ? 4 : unroll == 4 ? 6 : 8; }

// The value requested last is added first, so that no addition can start before all loads of the batch are issued.
template <int kUnroll>
__device__ inline void add_batch(float4& sum, const float4 (&piece)[kUnroll]) {
#pragma unroll
  for (int u = kUnroll - 1; u >= 0; --u) {
    sum.x += piece[u].x;
    sum.y += piece[u].y;
    sum.z += piece[u].z;
    sum.w += piece[u].w;
  }
}

// This is never true for the contents of the pool; it keeps the compiler from removing the loads.
__device__ inline void keep(const float4& sum, float* sink) {
  if (sum.x + sum.y + sum.z + sum.w == 1e30F) *sink = sum.x;
}

// Called by all threads of a WG: copies `vectors` (a multiple of a batch), with kUnroll loads per thread before their
// stores.
template <int kUnroll>
__device__ inline void copy_batches(const float4* from, float4* to, int64_t vectors) {
#pragma unroll 1
  for (int64_t i = threadIdx.x; i < vectors; i += kThreads * kUnroll) {
    float4 piece[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) piece[u] = load_streaming(from + i + u * kThreads);
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) to[i + u * kThreads] = piece[u];
  }
}

__device__ inline void stamp(WgStamp* stamps, uint64_t start) {
  __syncthreads();
  if (threadIdx.x == 0) stamps[blockIdx.x] = {start, global_ns(), 0, sm_id(), 0};
}

// ---- windows of time ----

// All WGs that share `word` (zero before the launch) begin at the same moment, `delay_ns` after the first of them
// arrived, and hold their places until then. Bytes that they move are counted from `warm_ns` later on, for `length_ns`.
struct Window {
  unsigned long long* word;
  uint64_t delay_ns, warm_ns, length_ns;
};

struct WindowTotals {  // in shared memory; times are sums over warps, counted from the begin of the window
  unsigned long long begin, bytes, from, end;
};

// Called by all threads of the WG.
__device__ inline void window_enter(const Window& window, WindowTotals& totals) {
  if (threadIdx.x == 0) {
    const unsigned long long mine = global_ns() + window.delay_ns;
    const unsigned long long other = atomicCAS(window.word, 0ULL, mine);
    totals = {other != 0 ? other : mine, 0, 0, 0};
  }
  __syncthreads();
  const uint64_t begin = totals.begin;
  while (global_ns() < begin) {  // at most delay_ns
  }
}

// Called by one thread of every warp: adds the bytes that the warp moved between two moments.
__device__ inline void window_add(WindowTotals& totals, uint64_t bytes, uint64_t from, uint64_t end) {
  atomicAdd(&totals.bytes, static_cast<unsigned long long>(bytes));
  atomicAdd(&totals.from, static_cast<unsigned long long>(from - totals.begin));
  atomicAdd(&totals.end, static_cast<unsigned long long>(end - totals.begin));
}

__device__ inline void window_stamp(WgStamp* stamps, const WindowTotals& totals) {
  __syncthreads();
  const int warps = int(blockDim.x) / 32;
  if (threadIdx.x == 0)
    stamps[blockIdx.x] = {totals.begin + totals.from / warps, totals.begin + totals.end / warps, totals.bytes, sm_id(),
                          0};
}

// GB/s of one WG in its window.
inline double window_rate(const WgStamp& s) {
  return s.end_ns > s.start_ns ? double(s.bytes) / double(s.end_ns - s.start_ns) : 0.0;
}

// Reads batches of `span` vectors (a multiple of a batch) for a window of time. Every WG has an order of its own,
// because WGs in step would read lines that another one has just brought into the L2, whatever the footprint.
template <int kUnroll>
__global__ void __launch_bounds__(kThreads, wgs_for_batch(kUnroll))
    read_window_kernel(const float4* base, int64_t span, uint32_t seed, Window window, float* sink, WgStamp* stamps) {
  __shared__ WindowTotals totals;
  constexpr int64_t kStep = int64_t{kThreads} * kUnroll;
  const uint32_t batches = uint32_t(span / kStep);
  uint32_t turn = hash32(blockIdx.x ^ seed);
  window_enter(window, totals);
  const uint64_t warm = totals.begin + window.warm_ns;
  uint64_t now = 0, from = 0, bytes = 0;
  float4 sum = make_float4(0, 0, 0, 0);
  while (true) {
#pragma unroll 1
    for (int batch = 0; batch < 4; ++batch) {
      const float4* at = base + __umulhi(hash32(turn++), batches) * kStep + threadIdx.x;
      float4 piece[kUnroll];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) piece[u] = load_streaming(at + u * kThreads);
      add_batch(sum, piece);
    }
    now = global_ns();
    if (from != 0) bytes += 4 * kUnroll * 512;  // of the warp
    if (from == 0 && now >= warm) from = now;
    if (from != 0 && now >= from + window.length_ns) break;
  }
  keep(sum, sink);
  if (threadIdx.x % 32 == 0) window_add(totals, bytes, from, now);
  window_stamp(stamps, totals);
}
