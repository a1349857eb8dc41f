// What a collective starts with and asks for, chunk by chunk.
#pragma once

#include <cstdint>
#include <vector>

#include "models/algorithms/msccl/layout.hpp"

namespace moire::msccl {

// Chunk `chunk` of the input of `gpu`, `times` over.
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
  Goal(const Algorithm& algorithm, CallPattern pattern);

  bool stated() const { return shape_.has_value(); }
  // Chunks of the input that hold something at the start.
  std::int64_t inputs(std::int32_t gpu) const;
  // Chunks of the output that the collective asks for.
  std::int64_t outputs(std::int32_t gpu) const;
  // What output `chunk` of a GPU must hold, in order.
  std::vector<Contribution> expected(std::int32_t gpu, std::int64_t chunk) const;
  Contribution expected_first(std::int32_t gpu, std::int64_t chunk) const;
  // Whether every input has one place to go, as a value or as a part of one sum.
  bool uses_inputs_once() const { return sums() || algorithm_.collective == Collective::all_to_all; }
  // The sum of the numbers of these. Sums over all GPUs are made once.
  std::uint64_t number_at(std::int32_t gpu, std::int64_t chunk) const;
  // Contributions with the same value belong into one sum.
  std::int64_t sum_of(const Contribution& contribution) const;
  std::int64_t sum_at(std::int32_t gpu, std::int64_t output) const { return sum_of(expected_first(gpu, output)); }

 private:
  bool sums() const;

  const Algorithm& algorithm_;
  CallPattern pattern_;
  std::optional<Shape> shape_;
  std::vector<std::uint64_t> numbers_;  // of each sum over all GPUs, where the collective sums
};

inline constexpr std::int32_t root = 0;  // of broadcast and reduce: files do not say

}  // namespace moire::msccl
