// The benchmark l2_add: the rate of additions to 64-bit words in the L2 (red.global, which returns no result). Several
// lanes of a warp may add to one word, and some lanes may add nothing. The words of a warp are adjacent, as in
// compressed data that kernels write by adding bits.
//
// The benchmark l2_add_grid: the same additions by grids of few and many workgroups. Each workgroup adds to other
// lines. In small grids, the few lines are divided unevenly among the slices of the L2.
#include "access.cuh"
#include "cuda_check.hpp"
#include "harness.hpp"

namespace {

constexpr int64_t kSpan = int64_t{16} << 20;  // less than half of an H200's L2
constexpr int kRounds = 400;
constexpr int kWgsPerSm = 8;

// Each warp adds to kRounds x 32 / lanes_per_word words. `lanes_per_word`: number of neighbouring lanes that add to the
// same word. `active`: number of lanes of a warp that add. `operations`: integer operations of a lane between two
// additions.
__global__ void __launch_bounds__(kThreads, kWgsPerSm)
    add_kernel(unsigned long long* words, int lanes_per_word, int active, int operations, Window window, float* sink,
               WgStamp* stamps) {
  __shared__ WindowTotals totals;
  window_enter(window, totals);
  const int lane = int(threadIdx.x % 32), warps = int(gridDim.x) * kThreads / 32;
  const int warp = int(blockIdx.x) * kThreads / 32 + int(threadIdx.x) / 32;
  const int64_t per_warp = 32 / lanes_per_word, all = kSpan / 8;
  uint32_t x = threadIdx.x + 1;
  const uint64_t start = global_ns();
#pragma unroll 1
  for (int r = 0; r < kRounds; ++r) {
    const int64_t at = (int64_t{r} * warps + warp) * per_warp % all + lane / lanes_per_word;
#pragma unroll 1
    for (int i = 0; i < operations; i += 4) {
      x = x * 1664525U + 1013904223U;
      x ^= x >> 13;
    }
    if (lane < active) asm volatile("red.global.add.u64 [%0], %1;" ::"l"(words + at), "l"(uint64_t{x & 1U}) : "memory");
  }
  if (x == 0x12345678U) *sink = float(x);
  stamp(stamps, start);
}

constexpr int kAdds = 40;  // additions of a thread

// Two neighbouring threads add to the same 64-bit word, so that a workgroup of 256 threads adds to 8 lines of 128
// bytes.
__global__ void __launch_bounds__(kThreads, kWgsPerSm)
    grid_kernel(unsigned long long* words, int operations, float* sink, WgStamp* stamps) {
  const uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
  uint32_t x = thread + 1;
  const uint64_t start = global_ns();
#pragma unroll 1
  for (int r = 0; r < kAdds; ++r) {
#pragma unroll 1
    for (int i = 0; i < operations; i += 4) {
      x = x * 1664525U + 1013904223U;
      x ^= x >> 13;
    }
    asm volatile("red.global.add.u64 [%0], %1;" ::"l"(words + thread / 2), "l"(uint64_t{x & 1U}) : "memory");
  }
  if (x == 0x12345678U) *sink = float(x);
  stamp(stamps, start);
}

double sectors_of_warp(int lanes_per_word, int active) {
  const int words = (active + lanes_per_word - 1) / lanes_per_word;
  return (words + 3) / 4;
}

}  // namespace

int main(int argc, char** argv) {
  Collector c(argc, argv, "l2_add", kSpan);
  const bool rates = c.wants("l2_add"), grids = c.wants("l2_add_grid");
  const int most = int(kSpan / (kThreads * 4));
  for (const int operations : {0, 16, 64})
    for (int wgs = c.sms() / 2; grids && wgs <= most; wgs *= 2) {
      const std::vector<double> time = repeat([&](int) {
        CUDA_CHECK(cudaMemset(c.pool(0), 0, size_t(wgs) * kThreads * 4));
        grid_kernel<<<wgs, kThreads>>>(reinterpret_cast<unsigned long long*>(c.pool(0)), operations, c.sink(0),
                                       c.stamps(0));
        CUDA_CHECK(cudaGetLastError());
        return c.span(0, wgs).ns / 1e3;
      });
      c.row("l2_add_grid", Parameters()("wgs", wgs)("adds", kAdds)("operations", operations), "time", time, "us");
    }
  if (!rates) return 0;
  unsigned long long* word = nullptr;
  CUDA_CHECK(cudaMalloc(&word, sizeof *word));
  const int wgs = c.sms() * kWgsPerSm;
  for (const int lanes_per_word : {1, 2, 4, 8, 32})
    for (const int active : {32, 16, 8})
      for (const int operations : {0, 64, 256}) {
        if (active < lanes_per_word) continue;
        const double sectors = sectors_of_warp(lanes_per_word, active) * wgs * (kThreads / 32) * kRounds;
        const std::vector<double> rate = repeat([&](int) {
          CUDA_CHECK(cudaMemset(word, 0, sizeof *word));
          CUDA_CHECK(cudaMemset(c.pool(0), 0, size_t(kSpan)));
          add_kernel<<<wgs, kThreads>>>(reinterpret_cast<unsigned long long*>(c.pool(0)), lanes_per_word, active,
                                        operations, Window{word, 30'000, 0, 0}, c.sink(0), c.stamps(0));
          CUDA_CHECK(cudaGetLastError());
          return 32 * sectors / c.span(0, wgs).ns;
        });
        c.row("l2_add", Parameters()("lanes_per_word", lanes_per_word)("active", active)("operations", operations),
              "bandwidth", rate, "GB/s");
      }
  CUDA_CHECK(cudaFree(word));
  return 0;
}
