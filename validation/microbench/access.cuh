// Ways of accessing memory that several benchmarks share: hashes for random rows, batches of independent loads, and
// windows of time in which all WGs of all kernels of a GPU work at the same time.
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

// Returns how many WGs per SM leave registers for exactly one batch (`unroll` loads per thread). Without such a bound
// the compiler saves registers by waiting for the first loads of a batch before it issues the last ones, as the
// disassembly shows.
constexpr int wgs_for_batch(int unroll) { return unroll >= 16 ? 2 : unroll == 8 ? 4 : unroll == 4 ? 6 : 8; }

// Adds the loaded values of a batch to `sum`, the value requested last first, so that no addition can start before all
// loads of the batch are issued.
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

// Uses `sum`, so that the compiler does not remove the loads. The condition is never true for the contents of the pool.
__device__ inline void keep(const float4& sum, float* sink) {
  if (sum.x + sum.y + sum.z + sum.w == 1e30F) *sink = sum.x;
}

// Copies `vectors` 16-byte vectors. Every thread issues kUnroll loads and then their stores; `vectors` is a multiple of
// kUnroll x kThreads. All threads of a WG call this function.
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

// ---- windows: intervals of time in which the WGs' bytes are counted ----

// All WGs with the same `word` (zero before the launch) begin at the same moment, `delay_ns` after the first of them
// arrived, and occupy their SMs until then. Their bytes are counted for `length_ns`, starting `warm_ns` after this
// begin.
struct Window {
  unsigned long long* word;
  uint64_t delay_ns, warm_ns, length_ns;
};

struct WindowTotals {  // of a WG; bytes, from and end are sums over its warps, times since `begin`
  unsigned long long begin, bytes, from, end;
};

// Waits for the begin of the window and resets `totals`. All threads of the WG call this function.
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

// Adds the bytes that a warp moved between the times `from` and `end`. One thread of every warp calls this function.
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

// Returns the bandwidth of one WG in its window, in GB/s.
inline double window_rate(const WgStamp& s) {
  return s.end_ns > s.start_ns ? double(s.bytes) / double(s.end_ns - s.start_ns) : 0.0;
}

// Reads random batches of the first `span` 16-byte vectors of `base` for a window of time. Every WG reads in another
// order. WGs with one order would read lines that another WG has just brought into the L2, even if `span` exceeds the
// L2.
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
    if (from != 0) bytes += 4 * kUnroll * 512;  // of the warp: 4 batches of kUnroll x 32 lanes x 16 bytes
    if (from == 0 && now >= warm) from = now;
    if (from != 0 && now >= from + window.length_ns) break;
  }
  keep(sum, sink);
  if (threadIdx.x % 32 == 0) window_add(totals, bytes, from, now);
  window_stamp(stamps, totals);
}
