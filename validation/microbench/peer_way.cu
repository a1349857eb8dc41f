// The benchmark peer_store_way: the bandwidth of stores to one peer with several cache hints, with bulk copies from
// shared memory, with interleaved or separate regions of the WGs, and with several sizes of the WGs.
#include <algorithm>

#include "access.cuh"
#include "cuda_check.hpp"

#if CUDART_VERSION >= 12000
#define HAS_BULK_STORE 1  // cp.async.bulk
#else
#define HAS_BULK_STORE 0
#endif

namespace {

constexpr int64_t kPoolBytes = int64_t{2} << 30;

enum Way { kPlain = 0, kStreaming = 1, kWriteThrough = 2, kBulk = 3, kWays = 4 };

template <int kWay>
__device__ inline void put(float4* to, const float4& value) {
  if (kWay == kStreaming)
    __stcs(to, value);
  else if (kWay == kWriteThrough)
    __stwt(to, value);
  else
    *to = value;
}

// Each WG stores `vectors_per_wg` vectors. WG w stores vector i at i + w * vectors_per_wg, or, if `interleaved`, the
// batches of all WGs alternate in memory.
template <int kWay>
__global__ void store_kernel(float4* to, int64_t vectors_per_wg, int interleaved, WgStamp* stamps) {
  const uint64_t start = global_ns();
  const int step = int(blockDim.x) * 4;
  const float4 value = make_float4(float(threadIdx.x), 1.0F, 2.0F, float(blockIdx.x));
  to += interleaved != 0 ? int64_t(blockIdx.x) * step : int64_t(blockIdx.x) * vectors_per_wg;
  const int64_t stride = interleaved != 0 ? int64_t(gridDim.x) * step : step;
#pragma unroll 1
  for (int64_t i = 0; i < vectors_per_wg / step; ++i) {
#pragma unroll
    for (int u = 0; u < 4; ++u) put<kWay>(to + i * stride + u * int(blockDim.x) + threadIdx.x, value);
  }
  fence_sys();
  stamp(stamps, start);
}

#if HAS_BULK_STORE
constexpr int kBulkBytes = 4096;

// Like store_kernel, but one thread per warp stores kBulkBytes at a time from shared memory.
__global__ void bulk_kernel(float4* to, int64_t vectors_per_wg, int interleaved, WgStamp* stamps) {
  __shared__ alignas(128) float4 source[kBulkBytes / 16];
  for (int i = int(threadIdx.x); i < kBulkBytes / 16; i += int(blockDim.x))
    source[i] = make_float4(1.0F, 2.0F, 3.0F, float(blockIdx.x));
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  const uint64_t start = global_ns();
  const int warps = int(blockDim.x) / 32, step = warps * kBulkBytes / 16;
  to += interleaved != 0 ? int64_t(blockIdx.x) * step : int64_t(blockIdx.x) * vectors_per_wg;
  const int64_t stride = interleaved != 0 ? int64_t(gridDim.x) * step : step;
  if (threadIdx.x % 32 == 0) {
    const uint32_t from = uint32_t(__cvta_generic_to_shared(source));
    float4* mine = to + threadIdx.x / 32 * (kBulkBytes / 16);
    for (int64_t i = 0; i < vectors_per_wg / step; ++i) {
      asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(mine + i * stride), "r"(from),
                   "r"(kBulkBytes)
                   : "memory");
      asm volatile("cp.async.bulk.commit_group;" ::: "memory");
      asm volatile("cp.async.bulk.wait_group.read 8;" ::: "memory");
    }
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    asm volatile("fence.proxy.async;" ::: "memory");
  }
  fence_sys();
  stamp(stamps, start);
}
#endif

using Kernel = void (*)(float4*, int64_t, int, WgStamp*);
Kernel kernel_of(int way) {
  switch (way) {
    case kPlain:
      return store_kernel<kPlain>;
    case kStreaming:
      return store_kernel<kStreaming>;
    case kWriteThrough:
      return store_kernel<kWriteThrough>;
    default:
#if HAS_BULK_STORE
      return bulk_kernel;
#else
      return nullptr;
#endif
  }
}

}  // namespace

int main(int argc, char** argv) {
  Collector c(argc, argv, "peer_way", kPoolBytes);
  if (!c.wants_peers("peer_store_way")) return 0;
  int major = 0;
  CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
  for (int way = 0; way < kWays; ++way) {
    const Kernel kernel = kernel_of(way);
    if (kernel == nullptr || (way == kBulk && major < 9)) {
      std::fprintf(stderr, "peer_way: no bulk stores with this compiler or GPU\n");
      continue;
    }
    for (const int interleaved : {0, 1}) {
      for (const int threads : {256, 512, 1024}) {
        for (const int wgs : {8, 16, 32, 132}) {
          for (const int64_t bytes : {int64_t{1} << 20, int64_t{8} << 20}) {
            const std::vector<double> rate = repeat(
                [&](int) {
                  CUDA_CHECK(cudaSetDevice(0));
                  kernel<<<wgs, threads, 0, c.stream(0)>>>(c.pool(1), bytes / 16, interleaved, c.stamps(0));
                  CUDA_CHECK(cudaGetLastError());
                  return double(bytes) * wgs / c.span(0, wgs).ns;
                },
                5);
            c.row(
                "peer_store_way",
                Parameters()("way", way)("interleaved", interleaved)("threads", threads)("wgs", wgs)("wg_bytes", bytes),
                "bandwidth", rate, "GB/s");
          }
        }
      }
    }
  }
  return 0;
}
