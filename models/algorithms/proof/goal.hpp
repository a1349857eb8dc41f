// What a collective starts with and asks for, cell by cell: of MSCCL algorithms a cell is a chunk, of plans a slice of
// one, of library algorithms so many bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/algorithms/proof/layout.hpp"

namespace moire::proof {

// Cell `chunk` of the input of `gpu`, `times` over.
struct Contribution {
  std::int32_t gpu = 0;
  std::int64_t chunk = 0;
  std::uint64_t times = 1;
  auto operator<=>(const Contribution&) const = default;
};

// A number for each contribution so that no two different sums of them are alike, but for one chance in 2^64. Never 0.
std::uint64_t number_of(const Contribution& contribution);

class Goal {
 public:
  // `whole` as in shape_of(). `root` of broadcast and reduce; files name none, theirs is 0. Outlived by `layout`.
  Goal(ir::Collective collective, std::int32_t ranks, std::int64_t whole, const Layout& layout, std::int32_t root = 0);

  bool stated() const { return shape_.has_value(); }
  // Cells of the input that hold something at the start.
  std::int64_t inputs(std::int64_t gpu) const;
  // Cells of the output that the collective asks for.
  std::int64_t outputs(std::int64_t gpu) const;
  // What cell `chunk` of the output of a GPU must hold, in order.
  std::vector<Contribution> expected(std::int64_t gpu, std::int64_t chunk) const;
  Contribution expected_first(std::int64_t gpu, std::int64_t chunk) const;
  // Whether every input has one place to go, as a value or as a part of one sum.
  bool uses_inputs_once() const { return ir::sums(collective_) || collective_ == ir::Collective::all_to_all; }
  // The sum of the numbers of these. Sums over all GPUs are made once.
  std::uint64_t number_at(std::int64_t gpu, std::int64_t chunk) const;
  // Contributions with the same value belong into one sum.
  std::int64_t sum_of(const Contribution& contribution) const;
  std::int64_t sum_at(std::int64_t gpu, std::int64_t output) const { return sum_of(expected_first(gpu, output)); }

 private:
  ir::Collective collective_;
  std::int32_t ranks_;
  std::int64_t part_;  // of the whole, a rank's
  std::int32_t root_;
  const Layout& layout_;
  std::optional<Shape> shape_;
  std::vector<std::uint64_t> numbers_;  // of each sum over all GPUs, where the collective sums
};

}  // namespace moire::proof
