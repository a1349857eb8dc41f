// Runs one shape on all GPUs in any of the modes: allocates, fills, launches, times and checks.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <string>
#include <vector>

#include "records.hpp"
#include "reference.hpp"
#include "shape.hpp"
#include "trace_writer.hpp"

struct Gate;

enum class Mode { fused, fused_traced, unfused_kernel, copy_kernel, bulk_synchronous };

struct RunOptions {
  Mode mode = Mode::fused;
  Order order = Order::remote_first;
  bool visible = false;
  int wgs_per_sm = 0;  // 0: what the occupancy allows
};

struct RunResult {
  double us = 0;       // slowest rank, from the common gate to the end of its last kernel (GPU events)
  double skew_us = 0;  // slowest minus fastest rank
  CheckResult check;
};

// What the trace needs to know about the compiled kernel.
struct KernelFacts {
  int registers = 0;
  int lds_bytes = 0;
  int wgs_per_sm = 0;
  int sms = 0;
};

class Bench {
 public:
  Bench(int ranks, int64_t largest_table_bytes, int64_t largest_index_count, int64_t largest_output_floats);
  ~Bench();
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  void set_shape(const Shape& shape);  // also fills the tables
  RunResult run(const RunOptions& options);
  KernelFacts facts(const RunOptions& options) const;
  int grid(const RunOptions& options) const;
  std::vector<RankRecords> records(const RunOptions& options) const;  // of the last traced run

 private:
  struct Rank {
    cudaStream_t stream = nullptr;
    cudaEvent_t begin = nullptr;
    cudaEvent_t end = nullptr;
    float4* tables = nullptr;
    int* indices = nullptr;
    float4* output = nullptr;
    float4* staging = nullptr;
    char* flush = nullptr;      // as large as several L2s: writing it evicts what preparation left there
    uint32_t* flags = nullptr;  // [source][wg]
    uint32_t* gates = nullptr;  // words: 0-7 host gate, 16-23 start barrier, 32 arrived
    TaskRecord* tasks = nullptr;
    WaitRecord* waits = nullptr;
    WgRecord* wgs = nullptr;
    int* gave_up = nullptr;
    unsigned long long* poison = nullptr;
    int64_t* elements = nullptr;
    float* picked = nullptr;
  };

  void prepare(uint64_t seed, const RunOptions& options);
  void launch(int rank, const RunOptions& options);
  void launch_unfused(int rank);
  void launch_copy(int rank);
  CheckResult check(uint64_t seed);
  Gate gate(int first_word) const;
  int shared_bytes() const { return shape_.bags_per_task * shape_.pooling * 4; }

  Shape shape_;
  int ranks_;
  int sms_ = 0;
  uint32_t epoch_ = 0;
  uint64_t seed_ = 0;
  uint32_t* host_flag_ = nullptr;  // pinned: opens the gates
  std::vector<Rank> rank_;
};
