// The inputs of a collective and the outputs that it must produce, cell by cell. A cell is a chunk of an MSCCL
// algorithm, a slice of a chunk of a plan, or a number of bytes of a library algorithm.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/algorithms/proof/layout.hpp"

namespace moire::proof {

// Input cell `chunk` of rank `gpu`, added `times` times.
struct Contribution {
  std::int32_t gpu = 0;
  std::int64_t chunk = 0;
  std::uint64_t times = 1;
  auto operator<=>(const Contribution&) const = default;
};

// Returns a number for a contribution, never 0. Two different sums of contributions have different totals of these
// numbers, except with a chance of 2^-64.
std::uint64_t number_of(const Contribution& contribution);

class Goal {
 public:
  // `whole` as for shape_of(). `root` is the root of broadcast and reduce; algorithm files name no root, so it is 0 for
  // them. `layout` must outlive the goal.
  Goal(ir::Collective collective, std::int32_t ranks, std::int64_t whole, const Layout& layout, std::int32_t root = 0);

  bool stated() const { return shape_.has_value(); }
  // Input cells that hold data at the start.
  std::int64_t inputs(std::int64_t gpu) const;
  // Output cells that the collective defines.
  std::int64_t outputs(std::int64_t gpu) const;
  // The contributions that output cell `chunk` must hold, sorted.
  std::vector<Contribution> expected(std::int64_t gpu, std::int64_t chunk) const;
  Contribution expected_first(std::int64_t gpu, std::int64_t chunk) const;
  // True if each input cell is needed only once: in a single output cell, or as a term of one sum.
  bool uses_inputs_once() const { return ir::sums(collective_) || collective_ == ir::Collective::all_to_all; }
  // The total of number_of() of the expected contributions. The totals over all GPUs are computed only once.
  std::uint64_t number_at(std::int64_t gpu, std::int64_t chunk) const;
  // Numbers the sums of the collective: contributions with equal results of sum_of() belong to the same sum.
  std::int64_t sum_of(const Contribution& contribution) const;
  std::int64_t sum_at(std::int64_t gpu, std::int64_t output) const { return sum_of(expected_first(gpu, output)); }

 private:
  ir::Collective collective_;
  std::int32_t ranks_;
  std::int64_t part_;  // cells of one rank's part of the whole
  std::int32_t root_;
  const Layout& layout_;
  std::optional<Shape> shape_;
  std::vector<std::uint64_t> numbers_;  // of each sum over all GPUs; empty where the collective does not sum
};

}  // namespace moire::proof
