#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "blockers.hpp"
#include "cuda_check.hpp"
#include "device_clock.cuh"

namespace {

// 16-byte vectors that each WG reads again and again, and as many that it writes: 16 MiB each. Four WGs exceed the L2.
constexpr int64_t kVectors = int64_t{1} << 20;

__global__ void __launch_bounds__(kBlockerThreads)
    blocker_kernel(const uint32_t* stop, uint32_t epoch, volatile uint32_t* arrived, float4* region, bool traffic) {
  const float4* from = region + int64_t{blockIdx.x} * 2 * kVectors;
  float4* to = region + (int64_t{blockIdx.x} * 2 + 1) * kVectors;
  const uint64_t deadline = global_ns() + kSpinLimitNs;
  if (threadIdx.x == 0) arrived[blockIdx.x] = epoch;
  if (!traffic) {
    if (threadIdx.x == 0)
      while (load_relaxed_sys(stop) != epoch && global_ns() < deadline) __nanosleep(1000);
    __syncthreads();
    return;
  }
  constexpr int64_t kBatch = kBlockerThreads * kBlockerVectors;
  for (int64_t at = threadIdx.x;; at = at + kBatch < kVectors ? at + kBatch : threadIdx.x) {
    bool end = false;
    if (threadIdx.x == 0) end = load_relaxed_sys(stop) == epoch || global_ns() > deadline;
    float4 batch[kBlockerVectors];
#pragma unroll
    for (int i = 0; i < kBlockerVectors; ++i) batch[i] = from[at + i * kBlockerThreads];
#pragma unroll
    for (int i = 0; i < kBlockerVectors; ++i) to[at + i * kBlockerThreads] = batch[i];
    if (__syncthreads_or(end) != 0) return;
  }
}

}  // namespace

Blockers::Blockers() {
  CUDA_CHECK(cudaSetDevice(0));
  CUDA_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  CUDA_CHECK(cudaStreamCreateWithFlags(&stop_stream_, cudaStreamNonBlocking));
  CUDA_CHECK(cudaMalloc(&stop_, 256));
  CUDA_CHECK(cudaMemset(stop_, 0, 256));
  const size_t region_bytes = size_t{kMostBlockers} * 2 * size_t{kVectors} * sizeof(float4);
  CUDA_CHECK(cudaMalloc(&region_, region_bytes));
  CUDA_CHECK(cudaMemset(region_, 0x3c, region_bytes));
  CUDA_CHECK(cudaHostAlloc(&arrived_, sizeof(uint32_t) * kMostBlockers, cudaHostAllocPortable | cudaHostAllocMapped));
  std::memset(arrived_, 0, sizeof(uint32_t) * kMostBlockers);
  CUDA_CHECK(cudaHostAlloc(&epochs_, sizeof(uint32_t), cudaHostAllocPortable));
  CUDA_CHECK(cudaDeviceGetAttribute(&shared_bytes_, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
  CUDA_CHECK(cudaFuncSetAttribute(blocker_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes_));
  for (const bool traffic : {false, true}) {
    start(1, traffic);
    stop();
  }
}

Blockers::~Blockers() {
  cudaSetDevice(0);
  cudaStreamDestroy(stream_);
  cudaStreamDestroy(stop_stream_);
  cudaFree(stop_);
  cudaFree(region_);
  cudaFreeHost(arrived_);
  cudaFreeHost(epochs_);
}

void Blockers::start(int count, bool traffic) {
  ++epoch_;
  count_ = count;
  if (count == 0) return;
  CUDA_CHECK(cudaSetDevice(0));
  blocker_kernel<<<count, kBlockerThreads, shared_bytes_, stream_>>>(stop_, epoch_, arrived_, region_, traffic);
  CUDA_CHECK(cudaGetLastError());
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  for (int w = 0; w < count; ++w) {
    while (static_cast<volatile uint32_t*>(arrived_)[w] != epoch_) {
      if (std::chrono::steady_clock::now() < limit) continue;
      std::fprintf(stderr, "blockers: %d are not resident after two seconds\n", count);
      std::exit(1);
    }
  }
}

void Blockers::stop() {
  if (count_ == 0) return;
  *epochs_ = epoch_;
  CUDA_CHECK(cudaSetDevice(0));
  CUDA_CHECK(cudaMemcpyAsync(stop_, epochs_, sizeof(uint32_t), cudaMemcpyHostToDevice, stop_stream_));
  CUDA_CHECK(cudaStreamSynchronize(stop_stream_));
  CUDA_CHECK(cudaStreamSynchronize(stream_));
}
