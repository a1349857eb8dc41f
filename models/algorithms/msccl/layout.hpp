// Which memory a chunk's name stands for. In place, input and output are one buffer, or one is a part of the other.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/algorithms/msccl/algorithm.hpp"

namespace moire::msccl {

enum class CallPattern : std::uint8_t { out_of_place, in_place };

// Those an algorithm may be called with, at least one.
std::vector<CallPattern> call_patterns(const Algorithm& algorithm);

// Chunks of input and output that the collective states for a rank. Nothing where it states none.
struct Shape {
  std::int64_t input = 0;
  std::int64_t output = 0;
};
std::optional<Shape> stated_shape(const Algorithm& algorithm);

// Chunks of a buffer that steps of this GPU may name, in every call pattern that the file allows.
std::int64_t chunks_in(const Algorithm& algorithm, const Gpu& gpu, Buffer buffer);

// Every chunk of memory is a cell, numbered rank by rank.
class Layout {
 public:
  // The algorithm keeps the rules (rules.hpp).
  Layout(const Algorithm& algorithm, CallPattern pattern);

  std::uint32_t cells() const { return first_.back(); }
  std::uint32_t first(std::int32_t rank) const { return first_[rank]; }
  std::uint32_t cells(std::int32_t rank) const { return first_[rank + 1] - first_[rank]; }
  std::uint32_t cell(std::int32_t rank, Buffer buffer, std::int64_t chunk) const {
    return static_cast<std::uint32_t>(base_[rank * buffers + static_cast<std::uint32_t>(buffer)] + chunk);
  }

  // With more cells than this nothing is checked.
  static constexpr std::uint64_t most_cells = std::uint64_t{1} << 26;
  // Cells the algorithm has at most in either pattern.
  static std::uint64_t cells_of(const Algorithm& algorithm);

 private:
  std::vector<std::uint32_t> first_;
  std::vector<std::uint32_t> base_;
};

}  // namespace moire::msccl
