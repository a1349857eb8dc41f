// The benchmarks chase (latency of dependent loads by the size of the memory they touch) and l2_read (bandwidth of the
// L2).
#include <algorithm>

#include "access.cuh"
#include "cuda_check.hpp"

namespace {

constexpr int64_t kPoolBytes = int64_t{8} << 30;
constexpr uint32_t kLineWords = 128 / 4;

// One thread issues one dependent load after another, which shows the unloaded latency.
__global__ void chase_kernel(const uint32_t* next, uint32_t at, int warm_hops, int hops, uint32_t* sink,
                             WgStamp* stamps) {
  for (int i = 0; i < warm_hops; ++i) at = __ldcg(next + at);
  const uint64_t start = global_ns();
  for (int i = 0; i < hops; ++i) at = __ldcg(next + at);
  *sink = at;
  // The time depends on `at`, so that the timer is read after the last load has returned.
  const uint64_t end = global_ns() + (at == UINT32_MAX ? 1 : 0);
  stamps[0] = {start, end, 0, sm_id(), 0};
}

// Links all cache lines to one cycle by a linear congruential generator of full period: every line occurs once, and
// successive lines are far apart.
__global__ void fill_chase(uint32_t* next, uint32_t lines) {
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < lines; i += gridDim.x * blockDim.x)
    next[i * kLineWords] = ((1664525U * i + 1013904223U) & (lines - 1)) * kLineWords;
}

__global__ void touch(const uint32_t* next, uint32_t lines, uint32_t* sink) {
  uint32_t sum = 0;
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < lines; i += gridDim.x * blockDim.x)
    sum += __ldcg(next + i * kLineWords);
  if (sum == 1) *sink = sum;
}

void bench_chase(Collector& c) {
  uint32_t* words = reinterpret_cast<uint32_t*>(c.pool(0));
  for (const int64_t mib : {1, 4, 16, 32, 64, 128, 256, 1024, 4096, 8192}) {
    const int64_t footprint = mib << 20;
    const uint32_t lines = uint32_t(footprint / 128);
    fill_chase<<<c.sms() * 8, 256>>>(words, lines);
    CUDA_CHECK(cudaGetLastError());
    constexpr int kHops = 2000;
    const std::vector<double> ns = repeat([&](int i) {
      // All SMs read all lines twice, so that the L2 then holds as many of them as it can.
      for (int k = 0; k < 2; ++k) touch<<<c.sms() * 8, 256>>>(words, lines, reinterpret_cast<uint32_t*>(c.sink(0)));
      const uint32_t first = (uint32_t(i) * 0x9e3779b1U & (lines - 1)) * kLineWords;
      chase_kernel<<<1, 1>>>(words, first, 64, kHops, reinterpret_cast<uint32_t*>(c.sink(0)), c.stamps(0));
      CUDA_CHECK(cudaGetLastError());
      return c.span(0, 1).ns / kHops;
    });
    c.row("chase", Parameters()("footprint_bytes", footprint), "latency", ns, "ns");
  }
  c.fill_pool(0, kPoolBytes);
  CUDA_CHECK(cudaDeviceSynchronize());
}

void bench_l2_read(Collector& c) {
  constexpr int kUnroll = 8;
  unsigned long long* word = nullptr;
  CUDA_CHECK(cudaMalloc(&word, sizeof *word));
  for (const int per_sm : {1, 2, 4}) {
    for (const int64_t mib : {1, 4, 8, 16, 24, 32, 40, 48, 64, 96, 128, 256}) {
      const int64_t span = (mib << 20) / 16;
      const int wgs = c.sms() * per_sm;
      const std::vector<double> total = repeat([&](int i) {
        CUDA_CHECK(cudaMemset(word, 0, sizeof *word));
        const Window window{word, 30'000, 200'000, 300'000};
        read_window_kernel<kUnroll><<<wgs, kThreads>>>(c.pool(0), span, uint32_t(i), window, c.sink(0), c.stamps(0));
        CUDA_CHECK(cudaGetLastError());
        double sum = 0;
        for (const WgStamp& s : c.read(0, wgs)) sum += window_rate(s);
        return sum;
      });
      c.row("l2_read",
            Parameters()("footprint_bytes", mib << 20)("wgs", wgs)("wgs_per_sm", per_sm)("in_flight_bytes",
                                                                                         kThreads * 16 * kUnroll),
            "bandwidth", total, "GB/s");
    }
  }
  CUDA_CHECK(cudaFree(word));
}

}  // namespace

int main(int argc, char** argv) {
  Collector c(argc, argv, "cache", kPoolBytes);
  if (c.wants("chase")) bench_chase(c);
  if (c.wants("l2_read")) bench_l2_read(c);
  return 0;
}
