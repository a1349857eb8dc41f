// The benchmark store_flag: the time of a message whose bytes must arrive before its flag. It consists of stores to a
// peer, a fence, and a flag that the peer answers.
#include "access.cuh"
#include "cuda_check.hpp"
#include "hopper.cuh"

namespace {

constexpr int kRounds = 64;
constexpr int kMostBytes = 65536;
enum Way { kStores = 0, kBulk = 1 };  // rows contain these numbers

struct Stamps {
  uint64_t begin, stored, fenced, answered;
};

// Sends `bytes` bytes and a flag in each round and waits for the answer. With kStores all threads store the bytes. With
// kBulk one thread copies them in pieces of 8 KiB from shared memory and waits until they have been written.
__global__ void __launch_bounds__(kThreads)
    initiator_kernel(float4* to, int bytes, int way, uint32_t* theirs, const uint32_t* mine, uint32_t first,
                     Stamps* stamps, int* gave_up) {
  extern __shared__ __align__(128) uint8_t lds[];
  for (int i = int(threadIdx.x); i < kMostBytes / 16; i += kThreads)
    reinterpret_cast<float4*>(lds)[i] = make_float4(1, 2, 3, float(i));
  fence_shared_for_copies();
  for (int round = 0; round < kRounds; ++round) {
    __syncthreads();
    Stamps s{};
    s.begin = global_ns();
    if (way == kStores) {
      for (int i = int(threadIdx.x); i < bytes / 16; i += kThreads) to[i] = make_float4(1, 2, 3, float(round));
      __syncthreads();
    }
    if (threadIdx.x != 0) continue;
    if (way == kBulk) {
      for (int at = 0; at < bytes; at += 8192)
        bulk_store(to + at / 16, shared_address(lds) + at, min(8192, bytes - at));
      stores_commit();
      stores_wait();
    }
    s.stored = global_ns();
    fence_sys();
    s.fenced = global_ns();
    store_relaxed_sys(theirs, first + round);
    wait_for_flag(mine, first + round, gave_up);
    s.answered = global_ns();
    stamps[round] = s;
  }
}

__global__ void responder_kernel(uint32_t* theirs, const uint32_t* mine, uint32_t first, int* gave_up) {
  for (int round = 0; round < kRounds; ++round) {
    if (!wait_for_flag(mine, first + round, gave_up)) return;
    store_relaxed_sys(theirs, first + round);
  }
}

void bench_store_flag(Collector& c) {
  uint32_t* flag[2] = {};
  int* gave_up[2] = {};
  Stamps* stamps = nullptr;
  for (int r = 1; r >= 0; --r) {
    CUDA_CHECK(cudaSetDevice(r));
    CUDA_CHECK(cudaMalloc(&flag[r], 256));
    CUDA_CHECK(cudaMemset(flag[r], 0, 256));
    CUDA_CHECK(cudaMalloc(&gave_up[r], sizeof(int)));
    CUDA_CHECK(cudaMemset(gave_up[r], 0, sizeof(int)));
    CUDA_CHECK(cudaDeviceSynchronize());
  }
  CUDA_CHECK(cudaMalloc(&stamps, sizeof(Stamps) * kRounds));
  CUDA_CHECK(cudaFuncSetAttribute(initiator_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kMostBytes));
  uint32_t token = 1;
  for (const int way : {kStores, kBulk}) {
    for (const int bytes : {0, 2048, 8192, 32768, 65536}) {
      std::vector<double> stored, fence, answer, time;
      for (int i = 0; i < kWarmups + kRepetitions; ++i) {
        CUDA_CHECK(cudaSetDevice(1));
        responder_kernel<<<1, 1, 0, c.stream(1)>>>(flag[0], flag[1], token, gave_up[1]);
        CUDA_CHECK(cudaGetLastError());
        CUDA_CHECK(cudaSetDevice(0));
        initiator_kernel<<<1, kThreads, kMostBytes, c.stream(0)>>>(c.pool(1), bytes, way, flag[1], flag[0], token,
                                                                   stamps, gave_up[0]);
        CUDA_CHECK(cudaGetLastError());
        token += kRounds;
        CUDA_CHECK(cudaStreamSynchronize(c.stream(0)));
        CUDA_CHECK(cudaStreamSynchronize(c.stream(1)));
        std::vector<Stamps> host(kRounds);
        int failed = 0;
        CUDA_CHECK(cudaMemcpy(&failed, gave_up[0], sizeof failed, cudaMemcpyDeviceToHost));
        CUDA_CHECK(cudaMemcpy(host.data(), stamps, sizeof(Stamps) * kRounds, cudaMemcpyDeviceToHost));
        if (failed != 0) {
          std::fprintf(stderr, "store_flag: the peer did not answer\n");
          std::exit(1);
        }
        if (i < kWarmups) continue;
        for (int round = 4; round < kRounds; ++round) {
          const Stamps& s = host[size_t(round)];
          stored.push_back(double(s.stored - s.begin));
          fence.push_back(double(s.fenced - s.stored));
          answer.push_back(double(s.answered - s.fenced));
          time.push_back(double(s.answered - s.begin));
        }
      }
      const Parameters p = Parameters()("bulk", way)("store_bytes", bytes);
      c.row("store_flag", p, "stores", stored, "ns");
      c.row("store_flag", p, "fence", fence, "ns");
      c.row("store_flag", p, "answer", answer, "ns");
      c.row("store_flag", p, "time", time, "ns");
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  Collector c(argc, argv, "store_flag", int64_t{1} << 24);
  if (c.wants_peers("store_flag")) bench_store_flag(c);
  return 0;
}
