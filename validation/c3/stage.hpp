// Runs a computation and a communication on all GPUs, alone or together, and times both. All GPUs start at the same
// time.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <vector>

#include "device_clock.cuh"
#include "gate.hpp"
#include "gpu_info.hpp"
#include "grid.hpp"
#include "work.hpp"

// Times of the slowest GPU in us, counted from the moment at which that GPU's first stream (computation or
// communication) may begin.
struct Ends {
  double compute_us = 0;  // to the end of the computation
  double comm_us = 0;     // to the end of the communication
  double both_us = 0;     // to the later of both
  double gap_us = 0;      // begin of the communication's stream minus begin of the computation's, mean over the GPUs
  double sm_mhz = 0;  // after load_before_runs(): clock of an idle SM between the load and the run, lowest of the GPUs
};

class Stage {
 public:
  static constexpr uint64_t kHoldNs = 10'000;   // time by which the second stream begins later
  static constexpr uint64_t kClockNs = 20'000;  // how long the clock is sampled after a load

  Stage(int gpus, int sms);
  ~Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  // Runs the work once without a gate (see run()). This loads its kernels, makes its connections and allocates its
  // memory, none of which may happen while a gate holds the GPUs.
  void warm(Work& work);
  // Runs both works and returns their times; either work may be null. The L2 is cleared of their data first. Each GPU
  // has a gate: a kernel of one thread that waits for the host and for the gates of all other GPUs. An event after the
  // gate releases both streams. The second stream first runs a kernel of kHoldNs, so that on all GPUs the same work's
  // workgroups are dispatched first. If `load` is not null, it receives the clocks and power of all GPUs, read during
  // the run.
  Ends run(Work* compute, Work* comm, First first, bool priority, std::vector<GpuLoad>* load = nullptr);

  // After this call, `work` runs `times` times on every GPU immediately before each run, so that the GPUs begin the run
  // with the clock that they have under this load.
  void load_before_runs(Work& work, int times);

 private:
  struct Lane {
    cudaStream_t stream = nullptr;
    cudaEvent_t begin = nullptr, end = nullptr;
  };
  struct Gpu {
    cudaStream_t gate = nullptr;
    Lane compute, comm, urgent;
    cudaEvent_t released = nullptr;
    uint32_t* words = nullptr;     // of the gate
    ClockSample* clock = nullptr;  // pinned: two samples between the load and the run
    uint4* flush = nullptr;
  };
  void enqueue(Work& work, Lane Gpu::*lane);
  void synchronise();

  int gpus_, sms_;
  Work* load_ = nullptr;
  int load_times_ = 0;
  uint32_t epoch_ = 0;
  uint32_t* host_ = nullptr;  // pinned: [0] opens the gates, [16] is set by a gate that timed out
  std::vector<Gpu> gpu_;
};
