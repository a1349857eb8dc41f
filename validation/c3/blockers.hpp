// Workgroups that idle or copy memory until stop(). Each of them occupies one SM, because it uses all of the SM's
// shared memory.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

constexpr int kMostBlockers = 128;
constexpr int kBlockerThreads = 512;
constexpr int kBlockerVectors = 4;  // vectors of 16 bytes per thread and batch: a WG loads 32 KiB and then stores them

class Blockers {
 public:
  Blockers();  // on GPU 0
  ~Blockers();
  Blockers(const Blockers&) = delete;
  Blockers& operator=(const Blockers&) = delete;

  // Launches `count` workgroups on GPU 0 and returns when all of them are resident. They copy memory if `traffic` is
  // true.
  void start(int count, bool traffic);
  void stop();

 private:
  cudaStream_t stream_ = nullptr, stop_stream_ = nullptr;
  uint32_t epoch_ = 0;
  uint32_t* stop_ = nullptr;     // on the GPU
  uint32_t* epochs_ = nullptr;   // pinned host memory: source of the copies
  uint32_t* arrived_ = nullptr;  // pinned, one word a WG
  float4* region_ = nullptr;
  int shared_bytes_ = 0, count_ = 0;
};
