// Runs computation and communication on all GPUs, alone or together, from a common start, and times both.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <vector>

#include "device_clock.cuh"
#include "gate.hpp"
#include "gpu_info.hpp"
#include "grid.hpp"
#include "work.hpp"

// Times of the slowest GPU in us, counted from the release of that GPU's earlier stream.
struct Ends {
  double compute_us = 0;  // to the end of the computation
  double comm_us = 0;     // to the end of the communication
  double both_us = 0;     // to the later of both
  double gap_us = 0;      // release of the communication minus release of the computation, mean over the GPUs
  double sm_mhz = 0;      // with a load: clock of an idle SM between the load and the run, of the slowest GPU
};

class Stage {
 public:
  static constexpr uint64_t kHoldNs = 10'000;   // delay of the second stream's release
  static constexpr uint64_t kClockNs = 20'000;  // how long the clock is sampled after a load

  Stage(int gpus, int sms);
  ~Stage();
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  // Runs the work once without a gate, so that kernels are loaded, connections made and memory allocated. None of this
  // may happen behind a gate.
  void warm(Work& work);
  // Either work may be null. Before a run, the L2 holds none of their data. Each GPU has one gate, and events after it
  // release the streams. A kernel of one thread releases the second stream about 10 us after the first, so that on all
  // GPUs the same work's workgroups are dispatched first. If `load` is not null, it receives the clocks and power of
  // all GPUs, read during the run.
  Ends run(Work* compute, Work* comm, First first, bool priority, std::vector<GpuLoad>* load = nullptr);

  // From now on, `work` is executed `times` times on every GPU just before each run, without a pause between both, so
  // that the GPUs begin the run with the clock that this load has.
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
    uint32_t* words = nullptr;       // of the gate
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
