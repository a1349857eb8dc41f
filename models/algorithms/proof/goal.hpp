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

// Returns a 64-bit hash of the gpu and chunk of a contribution, never 0. If two sums consist of different
// contributions, the totals of their hashes differ, except with a chance of 2^-64.
std::uint64_t number_of(const Contribution& contribution);

class Goal {
 public:
  // `whole` is the number of cells of the whole buffer, as in shape_of(). `root` is the root of broadcast and reduce;
  // algorithm files name no root, so it is 0 for them. `layout` must outlive the goal.
  Goal(ir::Collective collective, std::int32_t ranks, std::int64_t whole, const Layout& layout, std::int32_t root = 0);

  bool stated() const { return shape_.has_value(); }
  // Returns how many input cells of a GPU hold data at the start.
  std::int64_t inputs(std::int64_t gpu) const;
  // Returns how many output cells of a GPU the collective defines.
  std::int64_t outputs(std::int64_t gpu) const;
  // Returns the contributions whose sum output cell `chunk` must hold, sorted.
  std::vector<Contribution> expected(std::int64_t gpu, std::int64_t chunk) const;
  Contribution expected_first(std::int64_t gpu, std::int64_t chunk) const;
  // True if each input cell is needed only once: in a single output cell, or as a term of one sum.
  bool uses_inputs_once() const { return ir::sums(collective_) || collective_ == ir::Collective::all_to_all; }
  // Returns the total of number_of() over the contributions that output cell `chunk` must hold. If the collective sums,
  // the constructor computes the totals of all its sums.
  std::uint64_t number_at(std::int64_t gpu, std::int64_t chunk) const;
  // Returns the index of the sum that must contain the contribution. If the collective does not sum, each contribution
  // has an index of its own.
  std::int64_t sum_of(const Contribution& contribution) const;
  std::int64_t sum_at(std::int64_t gpu, std::int64_t output) const { return sum_of(expected_first(gpu, output)); }

 private:
  ir::Collective collective_;
  std::int32_t ranks_;
  std::int64_t part_;  // cells of one rank's part of the whole buffer
  std::int32_t root_;
  const Layout& layout_;
  std::optional<Shape> shape_;
  std::vector<std::uint64_t> numbers_;  // by sum: total of number_of(); empty if there are no sums
};

}  // namespace moire::proof
