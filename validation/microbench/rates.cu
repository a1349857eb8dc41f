// The benchmarks vector_rate and matrix_rate. Here matrix_rate uses mma.sync, as on GPUs before Hopper; matrix_wgmma.cu
// measures it on Hopper.
#include <algorithm>

#include "access.cuh"
#include "cuda_check.hpp"

namespace {

constexpr int kTargetAll = -1;

// Waits until all WGs have been placed. Then returns true if this WG's SM is `target` or `target` is kTargetAll. Other
// WGs end, so that one fully occupied SM works alone.
__device__ bool works(int target, const Window& window, WindowTotals& totals) {
  window_enter(window, totals);
  return target == kTargetAll || int(sm_id()) == target;
}

// Each thread computes 16 independent chains of fp32 FMAs.
__global__ void __launch_bounds__(kThreads, 8)
    fma_kernel(int target, int rounds, float a, float b, Window window, float* sink, WgStamp* stamps) {
  __shared__ WindowTotals totals;
  if (!works(target, window, totals)) {
    if (threadIdx.x == 0) stamps[blockIdx.x] = {0, 0, 0, sm_id(), 0};
    return;
  }
  float x[16];
#pragma unroll
  for (int i = 0; i < 16; ++i) x[i] = float(threadIdx.x + i);
  const uint64_t start = global_ns();
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {
#pragma unroll
    for (int k = 0; k < 8; ++k) {
#pragma unroll
      for (int i = 0; i < 16; ++i) x[i] = fmaf(x[i], a, b);
    }
  }
  float sum = 0;
#pragma unroll
  for (int i = 0; i < 16; ++i) sum += x[i];
  if (sum == 1e30F) *sink = sum;
  stamp(stamps, start);
}
constexpr double kFmaFlops = 2.0 * 16 * 8 * kThreads;  // of a WG and round

__device__ inline void mma(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
#if __CUDA_ARCH__ >= 800
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
}

__global__ void __launch_bounds__(kThreads, 2)
    mma_kernel(int target, int rounds, Window window, float* sink, WgStamp* stamps) {
  __shared__ WindowTotals totals;
  if (!works(target, window, totals)) {
    if (threadIdx.x == 0) stamps[blockIdx.x] = {0, 0, 0, sm_id(), 0};
    return;
  }
  float d[8][4] = {};
  uint32_t a[4], b[2];
  for (int i = 0; i < 4; ++i) a[i] = 0x3f803f80U ^ hash32(threadIdx.x * 4 + i) % 0x80U;
  for (int i = 0; i < 2; ++i) b[i] = 0x3f803f80U ^ hash32(threadIdx.x * 2 + i + 4096) % 0x80U;
  const uint64_t start = global_ns();
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {
#pragma unroll
    for (int k = 0; k < 4; ++k) {
#pragma unroll
      for (int i = 0; i < 8; ++i) mma(d[i], a, b);
    }
  }
  float sum = 0;
  for (int i = 0; i < 8; ++i) sum += d[i][0] + d[i][1] + d[i][2] + d[i][3];
  if (sum == 1e30F) *sink = sum;
  stamp(stamps, start);
}
constexpr double kMmaFlops = 2.0 * 16 * 8 * 16 * 8 * 4 * (kThreads / 32);  // of a WG and round

// Returns the GFLOP/s of an SM: the work of the WGs on `sms` SMs, divided by the time from their first start to their
// last end and by `sms`.
template <typename Launch>
std::vector<double> measure(Collector& c, int sms, int per_sm, double flops_per_wg, Launch launch) {
  unsigned long long* word = nullptr;
  CUDA_CHECK(cudaMalloc(&word, sizeof *word));
  const int wgs = c.sms() * per_sm;
  const std::vector<double> rate = repeat([&](int) {
    CUDA_CHECK(cudaMemset(word, 0, sizeof *word));
    launch(wgs, sms == 1 ? 0 : kTargetAll, Window{word, 30'000, 0, 0});
    CUDA_CHECK(cudaGetLastError());
    std::vector<WgStamp> working;
    for (const WgStamp& s : c.read(0, wgs))
      if (s.end_ns != 0) working.push_back(s);
    if (int(working.size()) != sms * per_sm)
      std::fprintf(stderr, "rates: %zu WGs worked; %d would be right\n", working.size(), sms * per_sm);
    return working.empty() ? 0.0 : double(working.size()) * flops_per_wg / span_of(working).ns / sms;
  });
  CUDA_CHECK(cudaFree(word));
  return rate;
}

}  // namespace

int main(int argc, char** argv) {
  Collector c(argc, argv, "rates", 0);
  if (c.wants("vector_rate")) {
    constexpr int kRounds = 1000;
    for (const int sms : {1, c.sms()}) {
      const std::vector<double> rate = measure(c, sms, 8, kFmaFlops * kRounds, [&](int wgs, int target, Window window) {
        fma_kernel<<<wgs, kThreads>>>(target, kRounds, 0.999F, 0.5F, window, c.sink(0), c.stamps(0));
      });
      c.row("vector_rate", Parameters()("sms", sms)("wgs_per_sm", 8), "flops_per_sm", rate, "GFLOP/s");
    }
  }
  int major = 0;
  CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
  if (c.option("--mma-sync", "0") == "1" && major >= 8 && c.wants("matrix_rate")) {
    constexpr int kRounds = 2000;
    for (const int sms : {1, c.sms()}) {
      const std::vector<double> rate = measure(c, sms, 2, kMmaFlops * kRounds, [&](int wgs, int target, Window window) {
        mma_kernel<<<wgs, kThreads>>>(target, kRounds, window, c.sink(0), c.stamps(0));
      });
      c.row("matrix_rate", Parameters()("sms", sms), "flops_per_sm", rate, "GFLOP/s");
    }
  }
  return 0;
}
