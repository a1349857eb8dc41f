// Runs one shape (problem size) on all GPUs in any of the modes: allocates and fills memory, launches the kernels,
// measures times and checks results.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "nccl_exchange.hpp"
#include "records.hpp"
#include "reference.hpp"
#include "shape.hpp"
#include "trace_writer.hpp"

struct Gate;

enum class Mode { unfused_kernel, bulk_nccl, bulk_copy, bulk_sm_copy, alltoall_nccl, alltoall_copy, fused };
inline constexpr Mode kModes[] = {Mode::unfused_kernel, Mode::bulk_nccl,     Mode::bulk_copy, Mode::bulk_sm_copy,
                                  Mode::alltoall_nccl,  Mode::alltoall_copy, Mode::fused};
const char* name_of(Mode mode);
bool needs_nccl(Mode mode);

struct RunOptions {
  Mode mode = Mode::fused;
  Order order = Order::remote_first;  // order of the fused kernel's tasks
  bool record = false;                // record time stamps: fused and unfused_kernel only
  bool start_barrier = false;         // fused: all WGs of all GPUs meet before the first task
  bool gated = true;                  // all GPUs start together; false: for a profiler, which holds the host meanwhile
  int checked_elements = 2'048;       // per rank, compared with values computed by the CPU
};

struct RunResult {
  bool done = true;  // false: NCCL did not work
  double us = 0;  // time of the slowest rank from the common start to the end of its last kernel or copy, by GPU events
  double skew_us = 0;  // slowest minus fastest rank
};

// The resources of the compiled kernel, how many of its WGs fit on an SM, and its grid.
struct KernelFacts {
  int registers = 0;
  int lds_bytes = 0;
  int wgs_per_sm = 0;
  int sms = 0;
  int grid = 0;
};

class Bench {
 public:
  // Allocates all buffers once, each as large as the largest of `shapes` needs. At most `resident` WGs of an embedding
  // kernel are on an SM; 0: as many as fit.
  Bench(int ranks, const std::vector<Shape>& shapes, int resident = 0);
  ~Bench();
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  void set_shape(const Shape& shape);  // also fills the tables
  bool has_nccl() const { return nccl_ != nullptr; }
  RunResult run(const RunOptions& options);
  KernelFacts facts(const RunOptions& options) const;
  std::vector<RankRecords> records(const RunOptions& options) const;  // of the last recorded run

 private:
  struct Rank {
    cudaStream_t stream = nullptr;
    cudaEvent_t begin = nullptr;
    cudaEvent_t end = nullptr;
    uint4* tables = nullptr;
    int* indices = nullptr;
    uint4* output = nullptr;
    uint4* staging = nullptr;
    uint64_t* cdf = nullptr;
    uint32_t* guide = nullptr;
    uint4* flush = nullptr;     // larger than the L2: reading it evicts what the preparation left there
    uint32_t* flags = nullptr;  // [source][wg]
    uint32_t* gates = nullptr;  // words 0-7: gate; 16-23: start barrier; 32: WGs that reached it
    TaskRecord* tasks = nullptr;
    WaitRecord* waits = nullptr;
    WgRecord* wgs = nullptr;
    int* gave_up = nullptr;
    unsigned long long* poison = nullptr;
    int64_t* elements = nullptr;
    float* picked = nullptr;
  };

  void allocate(int rank, const std::vector<Shape>& shapes);
  void prepare(uint64_t seed, const RunOptions& options);
  void launch_unfused(int rank, Layout layout, bool record);
  void launch_fused(int rank, int grid, const RunOptions& options);
  void launch_sm_copy(int rank);
  void enqueue_copies(int rank);
  bool enqueue_nccl();
  void synchronise();
  bool gave_up();
  void check(const RunOptions& options);
  Gate gate(int first_word) const;
  Popularity device_popularity(int rank) const;
  // Dynamic shared memory of a WG: its row indices, or more, so that a SM holds fewer WGs.
  int shared_bytes() const { return std::max(shape_.bags_per_task * shape_.pooling * 4, filler_bytes_); }

  Shape shape_;
  int ranks_;
  int sms_ = 0;
  int filler_bytes_ = 0;
  uint32_t epoch_ = 0;
  uint64_t seed_ = 0;
  uint32_t* host_flag_ = nullptr;  // pinned: opens the gates
  std::unique_ptr<PopularityTable> popularity_;
  int popularity_rows_ = 0;  // rows of the table popularity_
  double popularity_exponent_ = 0;
  std::unique_ptr<NcclExchange> nccl_;
  std::vector<Rank> rank_;
};
