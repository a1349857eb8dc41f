#include "models/algorithms/proof/layout.hpp"

namespace moire::proof {

std::optional<Shape> shape_of(ir::Collective collective, std::int64_t ranks, std::int64_t whole) {
  if (!ir::states_result(collective)) return std::nullopt;
  const std::int64_t part = whole / std::max<std::int64_t>(1, ranks);
  switch (collective) {
    case ir::Collective::all_gather:
      return Shape{part, whole};
    case ir::Collective::reduce_scatter:
      return Shape{whole, part};
    default:
      return Shape{whole, whole};
  }
}

Layout::Layout(const std::vector<Sizes>& ranks, const std::optional<Shape>& shape, CallPattern pattern) {
  std::uint32_t next = 0;
  first_.push_back(0);
  for (const Sizes& sizes : ranks) {
    const auto rank = static_cast<std::int64_t>(first_.size()) - 1;
    const std::int64_t either = std::max(sizes.input, sizes.output);
    std::int64_t input_at = next;
    std::int64_t output_at = next;
    if (pattern == CallPattern::out_of_place) {
      output_at += sizes.input;
      next += static_cast<std::uint32_t>(sizes.input + sizes.output);
      inputs_.push_back(sizes.input);
    } else {
      if (shape && shape->input < shape->output) input_at += rank * shape->input;
      if (shape && shape->output < shape->input) output_at += rank * shape->output;
      next += static_cast<std::uint32_t>(either);
      inputs_.push_back(either);
    }
    base_.insert(base_.end(), {static_cast<std::uint32_t>(input_at), static_cast<std::uint32_t>(output_at), next});
    next += static_cast<std::uint32_t>(sizes.scratch);
    first_.push_back(next);
  }
}

}  // namespace moire::proof
