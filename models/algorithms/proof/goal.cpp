#include "models/algorithms/proof/goal.hpp"

#include <algorithm>

namespace moire::proof {

using ir::Collective;

std::uint64_t number_of(const Contribution& contribution) {
  std::uint64_t x = (static_cast<std::uint64_t>(contribution.gpu) << 40) +
                    static_cast<std::uint64_t>(contribution.chunk) + 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return (x ^ (x >> 31)) | 1;
}

Goal::Goal(Collective collective, std::int32_t ranks, std::int64_t whole, const Layout& layout, std::int32_t root)
    : collective_(collective),
      ranks_(ranks),
      part_(std::max<std::int64_t>(1, whole / ranks)),
      root_(root),
      layout_(layout),
      shape_(shape_of(collective, ranks, whole)) {
  if (!ir::sums(collective)) return;
  numbers_.resize(static_cast<std::size_t>(whole));
  for (std::int32_t gpu = 0; gpu < ranks; ++gpu) {
    for (std::int64_t chunk = 0; chunk < whole; ++chunk) numbers_[chunk] += number_of({gpu, chunk});
  }
}

std::uint64_t Goal::number_at(std::int64_t gpu, std::int64_t chunk) const {
  const Contribution first = expected_first(gpu, chunk);
  return numbers_.empty() ? number_of(first) : numbers_[first.chunk];
}

std::int64_t Goal::inputs(std::int64_t gpu) const {
  if (!shape_) return layout_.inputs(gpu);
  return collective_ == Collective::broadcast && gpu != root_ ? 0 : shape_->input;
}

std::int64_t Goal::outputs(std::int64_t gpu) const {
  if (!shape_) return 0;
  return collective_ == Collective::reduce && gpu != root_ ? 0 : shape_->output;
}

Contribution Goal::expected_first(std::int64_t gpu, std::int64_t chunk) const {
  switch (collective_) {
    case Collective::all_gather:
      return {static_cast<std::int32_t>(chunk / part_), chunk % part_};
    case Collective::all_to_all:
      return {static_cast<std::int32_t>(chunk / part_), gpu * part_ + chunk % part_};
    case Collective::reduce_scatter:
      return {0, gpu * part_ + chunk};
    case Collective::broadcast:
      return {root_, chunk};
    default:
      return {0, chunk};
  }
}

std::vector<Contribution> Goal::expected(std::int64_t gpu, std::int64_t chunk) const {
  std::vector<Contribution> all = {expected_first(gpu, chunk)};
  if (!ir::sums(collective_)) return all;
  for (std::int32_t other = 1; other < ranks_; ++other) all.push_back({other, all[0].chunk});
  return all;
}

std::int64_t Goal::sum_of(const Contribution& contribution) const {
  if (ir::sums(collective_)) return contribution.chunk;
  return static_cast<std::int64_t>(contribution.gpu) * (std::int64_t{1} << 32) + contribution.chunk;
}

}  // namespace moire::proof
