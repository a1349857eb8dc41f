// Maps the cells of a rank's buffers to memory. In place, input and output are one buffer, or one is a part of the
// other.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "models/algorithms/ir/collective.hpp"

namespace moire::proof {

enum class CallPattern : std::uint8_t { out_of_place, in_place };

// Numbers of input and output cells of each rank that a collective defines.
struct Shape {
  std::int64_t input = 0;
  std::int64_t output = 0;
};
// Returns the shape of a collective over a whole buffer of `whole` cells (for all-gather, reduce-scatter and
// all-to-all: the parts of all ranks together); empty if the collective defines no result.
std::optional<Shape> shape_of(ir::Collective collective, std::int64_t ranks, std::int64_t whole);

// Numbers of cells in the buffers of a rank.
struct Sizes {
  std::int64_t input = 0;
  std::int64_t output = 0;
  std::int64_t scratch = 0;
};

// Numbers all cells, rank by rank.
class Layout {
 public:
  // In place, the smaller of input and output is a part of the larger one: the part of the rank. `shape` states its
  // size.
  Layout(const std::vector<Sizes>& ranks, const std::optional<Shape>& shape, CallPattern pattern);

  std::uint32_t cells() const { return first_.back(); }
  std::uint32_t first(std::int64_t rank) const { return first_[rank]; }
  std::uint32_t cells(std::int64_t rank) const { return first_[rank + 1] - first_[rank]; }
  std::uint32_t cell(std::int64_t rank, ir::Buffer buffer, std::int64_t cell) const {
    return static_cast<std::uint32_t>(base_[rank * ir::buffers + static_cast<std::uint32_t>(buffer)] + cell);
  }
  std::int64_t rank_of(std::uint32_t cell) const {
    return std::upper_bound(first_.begin(), first_.end(), cell) - first_.begin() - 1;
  }
  // Returns how many input cells the rank may use; in place, this is the size of the whole shared buffer.
  std::int64_t inputs(std::int64_t rank) const { return inputs_[rank]; }

 private:
  std::vector<std::uint32_t> first_;
  std::vector<std::uint32_t> base_;
  std::vector<std::int64_t> inputs_;
};

}  // namespace moire::proof
