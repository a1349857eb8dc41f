// What a collective starts with and asks for, chunk by chunk.
#pragma once

#include <cstdint>
#include <vector>

#include "models/msccl/layout.hpp"

namespace moire::models::msccl {

// Chunk `chunk` of the input of `gpu`, `times` over.
struct Contribution {
  std::int32_t gpu = 0;
  std::int64_t chunk = 0;
  std::uint64_t times = 1;
  auto operator<=>(const Contribution&) const = default;
};

class Goal {
 public:
  Goal(const Algorithm& algorithm, CallPattern pattern)
      : algorithm_(algorithm), pattern_(pattern), shape_(stated_shape(algorithm)) {}

  bool stated() const { return shape_.has_value(); }
  // Chunks of the input that hold something at the start.
  std::int64_t inputs(std::int32_t gpu) const;
  // Chunks of the output that the collective asks for.
  std::int64_t outputs(std::int32_t gpu) const;
  // What output `chunk` of a GPU must hold, in order.
  std::vector<Contribution> expected(std::int32_t gpu, std::int64_t chunk) const;
  Contribution expected_first(std::int32_t gpu, std::int64_t chunk) const;
  // Contributions with the same number belong into one sum.
  std::int64_t sum_of(const Contribution& contribution) const;
  std::int64_t sum_at(std::int32_t gpu, std::int64_t output) const { return sum_of(expected_first(gpu, output)); }

 private:
  bool sums() const;

  const Algorithm& algorithm_;
  CallPattern pattern_;
  std::optional<Shape> shape_;
};

inline constexpr std::int32_t root = 0;  // of broadcast and reduce: files do not say

}  // namespace moire::models::msccl
