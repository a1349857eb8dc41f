#include "models/algorithms/msccl/goal.hpp"

#include <algorithm>

namespace moire::msccl {

std::uint64_t number_of(const Contribution& contribution) {
  std::uint64_t x = (static_cast<std::uint64_t>(contribution.gpu) << 40) +
                    static_cast<std::uint64_t>(contribution.chunk) + 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return (x ^ (x >> 31)) | 1;
}

Goal::Goal(const Algorithm& algorithm, CallPattern pattern)
    : algorithm_(algorithm), pattern_(pattern), shape_(stated_shape(algorithm)) {
  if (!shape_ || !sums()) return;
  numbers_.resize(static_cast<std::size_t>(algorithm.chunks));
  for (std::int32_t gpu = 0; gpu < algorithm.ranks(); ++gpu) {
    for (std::int32_t chunk = 0; chunk < algorithm.chunks; ++chunk) numbers_[chunk] += number_of({gpu, chunk});
  }
}

std::uint64_t Goal::number_at(std::int32_t gpu, std::int64_t chunk) const {
  const Contribution first = expected_first(gpu, chunk);
  return numbers_.empty() ? number_of(first) : numbers_[first.chunk];
}

bool Goal::sums() const {
  return algorithm_.collective == Collective::all_reduce || algorithm_.collective == Collective::reduce ||
         algorithm_.collective == Collective::reduce_scatter;
}

std::int64_t Goal::inputs(std::int32_t gpu) const {
  if (!shape_) {
    const Gpu& g = algorithm_.gpus[gpu];
    // In place the buffer is the user's under both names.
    return pattern_ == CallPattern::in_place ? std::max(g.input_chunks, g.output_chunks) : g.input_chunks;
  }
  return algorithm_.collective == Collective::broadcast && gpu != root ? 0 : shape_->input;
}

std::int64_t Goal::outputs(std::int32_t gpu) const {
  if (!shape_) return 0;
  return algorithm_.collective == Collective::reduce && gpu != root ? 0 : shape_->output;
}

Contribution Goal::expected_first(std::int32_t gpu, std::int64_t chunk) const {
  const std::int64_t part = algorithm_.chunks / algorithm_.ranks();
  switch (algorithm_.collective) {
    case Collective::all_gather:
      return {static_cast<std::int32_t>(chunk / part), chunk % part};
    case Collective::all_to_all:
      return {static_cast<std::int32_t>(chunk / part), gpu * part + chunk % part};
    case Collective::reduce_scatter:
      return {0, gpu * part + chunk};
    default:
      return {0, chunk};
  }
}

std::vector<Contribution> Goal::expected(std::int32_t gpu, std::int64_t chunk) const {
  std::vector<Contribution> all = {expected_first(gpu, chunk)};
  if (!sums()) return all;
  for (std::int32_t other = 1; other < algorithm_.ranks(); ++other) all.push_back({other, all[0].chunk});
  return all;
}

std::int64_t Goal::sum_of(const Contribution& contribution) const {
  if (sums()) return contribution.chunk;
  return static_cast<std::int64_t>(contribution.gpu) * (std::int64_t{1} << 32) + contribution.chunk;
}

}  // namespace moire::msccl
