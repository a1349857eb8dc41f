#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "clock_sampler.cuh"
#include "cuda_check.hpp"
#include "evict_l2.hpp"
#include "stage.hpp"

namespace {

// Spins for `ns` nanoseconds. The kernel is one thread with few registers, so that any workgroup still fits on its SM.
// It writes samples of the SM's clock at its begin and its end, unless `clock` is null.
__global__ void hold(uint64_t ns, ClockSample* clock) {
  const ClockSample begin = clock_sample();
  while (global_ns() < begin.ns + ns) {
  }
  if (clock == nullptr) return;
  clock[0] = begin;
  clock[1] = clock_sample();
}

}  // namespace

Stage::Stage(int gpus, int sms) : gpus_(gpus), sms_(sms), gpu_(gpus) {
  CUDA_CHECK(cudaHostAlloc(&host_, 128, cudaHostAllocPortable | cudaHostAllocMapped));
  std::memset(host_, 0, 128);
  for (int r = 0; r < gpus; ++r) {
    Gpu& g = gpu_[r];
    CUDA_CHECK(cudaSetDevice(r));
    int least = 0, greatest = 0;
    CUDA_CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    for (cudaStream_t* stream : {&g.gate, &g.compute.stream, &g.comm.stream})
      CUDA_CHECK(cudaStreamCreateWithPriority(stream, cudaStreamNonBlocking, least));
    CUDA_CHECK(cudaStreamCreateWithPriority(&g.urgent.stream, cudaStreamNonBlocking, greatest));
    for (Lane* lane : {&g.compute, &g.comm, &g.urgent}) {
      CUDA_CHECK(cudaEventCreate(&lane->begin));
      CUDA_CHECK(cudaEventCreate(&lane->end));
    }
    CUDA_CHECK(cudaEventCreateWithFlags(&g.released, cudaEventDisableTiming));
    CUDA_CHECK(cudaMalloc(&g.words, 256));
    CUDA_CHECK(cudaMemset(g.words, 0, 256));
    CUDA_CHECK(cudaHostAlloc(&g.clock, 2 * sizeof(ClockSample), cudaHostAllocMapped));
    CUDA_CHECK(cudaMalloc(&g.flush, kFlushBytes));
    CUDA_CHECK(cudaMemset(g.flush, 0, kFlushBytes));
    CUDA_CHECK(cudaDeviceSynchronize());
  }
  // Loads the kernels that run() launches: launches them once, with a gate that is already open.
  *static_cast<volatile uint32_t*>(host_) = ++epoch_;
  for (int r = 0; r < gpus; ++r) {
    CUDA_CHECK(cudaSetDevice(r));
    Gate gate{};
    gate.ready[0] = gpu_[r].words;
    launch_evict_l2(gpu_[r].gate, gpu_[r].flush, sms_);
    launch_gate(gpu_[r].gate, host_, gate, 0, 1, epoch_, reinterpret_cast<int*>(host_ + 16));
    hold<<<1, 1, 0, gpu_[r].gate>>>(0, gpu_[r].clock);
    CUDA_CHECK(cudaGetLastError());
  }
  synchronise();
}

Stage::~Stage() {
  for (int r = 0; r < gpus_; ++r) {
    Gpu& g = gpu_[r];
    cudaSetDevice(r);
    for (Lane* lane : {&g.compute, &g.comm, &g.urgent}) {
      cudaEventDestroy(lane->begin);
      cudaEventDestroy(lane->end);
      cudaStreamDestroy(lane->stream);
    }
    cudaEventDestroy(g.released);
    cudaStreamDestroy(g.gate);
    cudaFreeHost(g.clock);
    cudaFree(g.words);
    cudaFree(g.flush);
  }
  cudaFreeHost(host_);
}

void Stage::synchronise() {
  for (int r = 0; r < gpus_; ++r) {
    const Gpu& g = gpu_[r];
    CUDA_CHECK(cudaSetDevice(r));
    for (cudaStream_t stream : {g.gate, g.compute.stream, g.comm.stream, g.urgent.stream})
      CUDA_CHECK(cudaStreamSynchronize(stream));
  }
}

void Stage::enqueue(Work& work, Lane Gpu::*lane) {
  std::vector<cudaStream_t> streams;
  for (int r = 0; r < gpus_; ++r) {
    Lane& l = gpu_[r].*lane;
    CUDA_CHECK(cudaSetDevice(r));
    CUDA_CHECK(cudaEventRecord(l.begin, l.stream));
    streams.push_back(l.stream);
  }
  work.enqueue(streams);
  for (int r = 0; r < gpus_; ++r) {
    Lane& l = gpu_[r].*lane;
    CUDA_CHECK(cudaSetDevice(r));
    CUDA_CHECK(cudaEventRecord(l.end, l.stream));
  }
}

void Stage::warm(Work& work) {
  enqueue(work, &Gpu::compute);
  synchronise();
}

void Stage::load_before_runs(Work& work, int times) {
  load_ = &work;
  load_times_ = times;
}

Ends Stage::run(Work* compute, Work* comm, First first, bool priority, std::vector<GpuLoad>* load) {
  ++epoch_;
  Lane Gpu::*const comm_lane = priority ? &Gpu::urgent : &Gpu::comm;
  const bool both = compute != nullptr && comm != nullptr;
  const bool compute_leads = comm == nullptr || (both && first == First::compute);
  std::vector<cudaStream_t> gates;
  for (const Gpu& g : gpu_) gates.push_back(g.gate);
  for (int i = 0; i < load_times_; ++i) load_->enqueue(gates);
  for (int r = 0; r < gpus_; ++r) {
    Gpu& g = gpu_[r];
    CUDA_CHECK(cudaSetDevice(r));
    if (load_times_ > 0) hold<<<1, 1, 0, g.gate>>>(kClockNs, g.clock);
    launch_evict_l2(g.gate, g.flush, sms_);
    Gate gate{};
    for (int p = 0; p < gpus_; ++p) gate.ready[p] = gpu_[p].words;
    launch_gate(g.gate, host_, gate, r, gpus_, epoch_, reinterpret_cast<int*>(host_ + 16));
    CUDA_CHECK(cudaEventRecord(g.released, g.gate));
    const cudaStream_t leader = (compute_leads ? g.compute : g.*comm_lane).stream;
    CUDA_CHECK(cudaStreamWaitEvent(leader, g.released, 0));
    if (!both) continue;
    const cudaStream_t follower = (compute_leads ? g.*comm_lane : g.compute).stream;
    CUDA_CHECK(cudaStreamWaitEvent(follower, g.released, 0));
    hold<<<1, 1, 0, follower>>>(kHoldNs, nullptr);
    CUDA_CHECK(cudaGetLastError());
  }
  if (compute != nullptr && compute_leads) enqueue(*compute, &Gpu::compute);
  if (comm != nullptr) enqueue(*comm, comm_lane);
  if (compute != nullptr && !compute_leads) enqueue(*compute, &Gpu::compute);
  *static_cast<volatile uint32_t*>(host_) = epoch_;
  if (load != nullptr) {
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    load->clear();
    for (int r = 0; r < gpus_; ++r) load->push_back(gpu_load(r));
  }
  synchronise();
  if (static_cast<volatile uint32_t*>(host_)[16] != 0) {
    std::fprintf(stderr, "stage: a gate timed out: the work was not enqueued in two seconds\n");
    std::exit(1);
  }

  Ends ends;
  for (int r = 0; r < gpus_; ++r) {
    const Gpu& g = gpu_[r];
    const Lane& m = g.*comm_lane;
    CUDA_CHECK(cudaSetDevice(r));
    const auto us = [](cudaEvent_t from, cudaEvent_t to) {
      float ms = 0;
      CUDA_CHECK(cudaEventElapsedTime(&ms, from, to));
      return double(ms) * 1e3;
    };
    const double gap = both ? us(g.compute.begin, m.begin) : 0;  // > 0: the computation began first
    if (compute != nullptr) {
      const double end = us(g.compute.begin, g.compute.end) + std::max(0.0, -gap);
      ends.compute_us = std::max(ends.compute_us, end);
    }
    if (comm != nullptr) {
      const double end = us(m.begin, m.end) + std::max(0.0, gap);
      ends.comm_us = std::max(ends.comm_us, end);
    }
    ends.gap_us += gap / gpus_;
    if (load_times_ == 0) continue;
    const double mhz = clock_between(g.clock[0], g.clock[1]);
    ends.sm_mhz = r == 0 ? mhz : std::min(ends.sm_mhz, mhz);
  }
  ends.both_us = std::max(ends.compute_us, ends.comm_us);
  return ends;
}
