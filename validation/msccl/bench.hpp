// Runs plans (collective algorithms) on the first GPUs of a machine: allocates memory, starts all GPUs together,
// measures times, and checks the result of every run.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gate.hpp"
#include "harness.hpp"
#include "interpreter.hpp"
#include "layout.hpp"
#include "meaning.hpp"

// A plan that is loaded on the GPUs: its programs, its connections and its expected result.
class LoadedPlan {
 public:
  // Rank r is on GPU r % gpus. If there are more ranks than GPUs, ranks share GPUs, and the times have no meaning.
  LoadedPlan(const Plan& plan, int gpus, int sms);
  ~LoadedPlan();
  LoadedPlan(const LoadedPlan&) = delete;
  LoadedPlan& operator=(const LoadedPlan&) = delete;

  const Plan& plan() const { return plan_; }
  void empty_connections();  // resets all connections to their state before the first launch

 private:
  friend class Bench;
  struct Rank {
    BlockProgram* blocks = nullptr;
    Op* ops = nullptr;
    Wait* waits = nullptr;
    int32_t* sources = nullptr;
    char* slab = nullptr;
    WgStamp* stamps = nullptr;
    Stuck* stuck = nullptr;
    Term* terms = nullptr;  // the terms of all output chunks, in the order of the chunks
    int32_t* first_term = nullptr;
  };
  Plan plan_;
  int gpus_;
  Layout layout_;
  std::vector<Expected> expected_;
  std::vector<char*> slabs_;
  std::vector<Rank> rank_;
};

struct RunResult {
  bool ended = false;    // false: a wait lasted longer than the limit
  double us = 0;         // time between events around the kernel, slowest GPU
  double skew_us = 0;    // slowest minus fastest GPU
  double inside_us = 0;  // first start to last end of a GPU's thread blocks, slowest GPU
  std::string stuck;     // text: what each thread block was waiting for
};

class Bench {
 public:
  // `most_buffer_bytes`: the largest size of each buffer of a rank, in bytes.
  Bench(int ranks, int gpus, int sms, int64_t most_buffer_bytes);
  ~Bench();
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  // Returns the size of each buffer that a plan needs for a collective of `bytes`, in bytes.
  static int64_t buffer_bytes(const Plan& plan, int64_t bytes);
  // Writes new inputs, poisons the outputs and evicts both from the L2. Then runs the kernels of all GPUs, which start
  // together, and checks every element of every output; a wrong element ends the program. If a wait lasts longer than
  // `limit_ns`, the kernels end, and the connections of the plan are emptied.
  RunResult run(LoadedPlan& loaded, int64_t bytes, uint64_t limit_ns);

 private:
  struct Rank {
    cudaStream_t stream = nullptr;
    cudaEvent_t begin = nullptr, end = nullptr;
    char* buffer[3] = {nullptr, nullptr, nullptr};
    uint32_t* gate = nullptr;
    uint4* flush = nullptr;
    unsigned long long* wrong = nullptr;
  };
  void prepare(const LoadedPlan& loaded, const Cut& cut);
  void verify(const LoadedPlan& loaded, const Cut& cut, int64_t bytes);
  char* buffer(const Plan& plan, const Cut& cut, int rank, int which) const;
  std::string stuck_text(const LoadedPlan& loaded) const;
  void use(int rank) const;
  void synchronise(int ranks);

  int gpus_, sms_;
  int64_t most_;
  std::vector<Rank> rank_;
  // pinned: [0] opens the gates; [16] is set by a gate that timed out; [32] makes all thread blocks stop waiting
  uint32_t* host_ = nullptr;
  unsigned long long* wrong_ = nullptr;  // pinned: the number of wrong elements of every rank
  uint32_t epoch_ = 0;
};
