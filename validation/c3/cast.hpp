// Holds all works (GEMMs, streams, collectives) of a program. Each work is created once, run once and checked. So its
// kernels are loaded and its connections made before it runs behind a gate, a kernel that holds the GPUs.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "collective.hpp"
#include "gemm.hpp"
#include "grid.hpp"
#include "stage.hpp"

class Cast {
 public:
  // `gpus`: number of GPUs that run the works; `sms`: number of SMs of each GPU.
  Cast(int gpus, int sms, const std::vector<ComputeShape>& shapes, int64_t most_bytes_per_rank);

  int gpus() const { return gpus_; }
  const Operands& operands() const { return operands_; }
  // Returns the work, which is made and checked if it does not exist yet. `compute_sms`: number of SMs that a GEMM or
  // stream may use (0: all).
  Work& compute(const ComputeShape& shape, int compute_sms);
  Collective& nccl(Kind kind, int64_t bytes_per_rank, int max_ctas);
  Collective& copies(Kind kind, int64_t bytes_per_rank, int streams);
  Collective& collective(const Pair& pair, const Strategy& strategy);
  Stage& stage() { return stage_; }

 private:
  Collective& checked(std::unique_ptr<Collective>& made, const std::string& engine);

  int gpus_, sms_;
  Stage stage_;
  CopyLanes lanes_;
  Operands operands_;
  CollectiveMemory memory_;
  std::map<int, std::unique_ptr<NcclGroup>> groups_;  // by max_ctas
  std::map<std::tuple<std::string, int>, std::unique_ptr<Work>> computes_;
  // The key of a collective is its kind, its bytes per rank, and a number: max_ctas with NCCL, -1 - streams with copy
  // engines.
  std::map<std::tuple<Kind, int64_t, int>, std::unique_ptr<Collective>> collectives_;
};

// Ends the program with status 2 unless there are 2, 4 or 8 GPUs. The sizes in the grid files can be divided by these
// numbers.
void require_even_shares(int gpus);

std::vector<ComputeShape> distinct_shapes(const std::vector<Pair>& pairs);
int64_t most_bytes_per_rank(const std::vector<Pair>& pairs);
