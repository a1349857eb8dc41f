// Workgroups that occupy one SM each, because they use all of its shared memory, and idle or copy until they are told
// to end.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

constexpr int kMostBlockers = 128;
constexpr int kBlockerThreads = 512;
constexpr int kBlockerVectors = 4;  // of 16 bytes per thread and batch: a WG loads 32 KiB, then stores them

class Blockers {
 public:
  Blockers();  // on GPU 0
  ~Blockers();
  Blockers(const Blockers&) = delete;
  Blockers& operator=(const Blockers&) = delete;

  // Returns when all workgroups are resident.
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
