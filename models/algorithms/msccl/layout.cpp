#include "models/algorithms/msccl/layout.hpp"

#include <algorithm>

namespace moire::msccl {

std::vector<CallPattern> call_patterns(const Algorithm& algorithm) {
  std::vector<CallPattern> patterns;
  if (algorithm.in_place) patterns.push_back(CallPattern::in_place);
  if (algorithm.out_of_place || !algorithm.in_place) patterns.push_back(CallPattern::out_of_place);
  return patterns;
}

std::optional<Shape> stated_shape(const Algorithm& algorithm) {
  const std::int64_t whole = algorithm.chunks;
  const std::int64_t part = whole / std::max(1, algorithm.ranks());
  switch (algorithm.collective) {
    case Collective::all_reduce:
    case Collective::all_to_all:
    case Collective::broadcast:
    case Collective::reduce:
      return Shape{whole, whole};
    case Collective::all_gather:
      return Shape{part, whole};
    case Collective::reduce_scatter:
      return Shape{whole, part};
    default:
      return std::nullopt;
  }
}

std::int64_t chunks_in(const Algorithm& algorithm, const Gpu& gpu, Buffer buffer) {
  if (buffer == Buffer::scratch) return gpu.scratch_chunks;
  const std::int64_t declared = buffer == Buffer::input ? gpu.input_chunks : gpu.output_chunks;
  const auto shape = stated_shape(algorithm);
  const std::int64_t stated = shape ? (buffer == Buffer::input ? shape->input : shape->output) : declared;
  if (algorithm.out_of_place || !algorithm.in_place) return std::min(declared, stated);
  const std::int64_t either = std::max(gpu.input_chunks, gpu.output_chunks);
  if (!shape) return either;
  if (shape->input == shape->output) return std::min(either, stated);
  return declared > 0 ? std::min(declared, stated) : stated;
}

Layout::Layout(const Algorithm& algorithm, CallPattern pattern) {
  const auto shape = stated_shape(algorithm);
  std::uint32_t next = 0;
  first_.push_back(0);
  for (std::int32_t rank = 0; rank < algorithm.ranks(); ++rank) {
    const Gpu& gpu = algorithm.gpus[rank];
    const auto input = static_cast<std::uint32_t>(std::max<std::int64_t>(gpu.input_chunks, shape ? shape->input : 0));
    const auto output =
        static_cast<std::uint32_t>(std::max<std::int64_t>(gpu.output_chunks, shape ? shape->output : 0));
    std::uint32_t input_at = next;
    std::uint32_t output_at = next;
    if (pattern == CallPattern::out_of_place) {
      output_at += input;
      next += input + output;
    } else {
      const auto r = static_cast<std::uint32_t>(rank);
      if (shape && shape->input < shape->output) input_at += r * static_cast<std::uint32_t>(shape->input);
      if (shape && shape->output < shape->input) output_at += r * static_cast<std::uint32_t>(shape->output);
      next += std::max(input, output);
    }
    base_.insert(base_.end(), {input_at, output_at, next});
    next += static_cast<std::uint32_t>(gpu.scratch_chunks);
    first_.push_back(next);
  }
}

std::uint64_t Layout::cells_of(const Algorithm& algorithm) {
  const auto shape = stated_shape(algorithm);
  std::uint64_t cells = 0;
  for (const Gpu& gpu : algorithm.gpus) {
    cells += static_cast<std::uint64_t>(std::max<std::int64_t>(gpu.input_chunks, shape ? shape->input : 0));
    cells += static_cast<std::uint64_t>(std::max<std::int64_t>(gpu.output_chunks, shape ? shape->output : 0));
    cells += static_cast<std::uint64_t>(gpu.scratch_chunks);
  }
  return cells;
}

}  // namespace moire::msccl
