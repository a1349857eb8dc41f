#include "models/algorithms/mscclpp/memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace moire::mscclpp {

namespace {

constexpr std::uint32_t most_slices = 4096;

using ir::Collective;

// Whether one of both buffers is a part of the other, in place.
bool parts_of_one(Collective collective) {
  return collective == Collective::all_gather || collective == Collective::reduce_scatter;
}

}  // namespace

std::vector<Cut> cuts_of(const Plan& plan) {
  std::uint64_t shares = 1;
  std::uint64_t unit = 0;
  bool scratch_outside = false;
  const auto uses_scratch = [](const Operation& op) {
    const auto is = [](const Operand& operand) { return operand.buffer == Buffer::scratch; };
    return std::any_of(op.sources.begin(), op.sources.end(), is) ||
           std::any_of(op.destinations.begin(), op.destinations.end(), is);
  };
  for (const Gpu& gpu : plan.gpus) {
    for (const Block& block : gpu.blocks) {
      for (const Operation& op : block.operations) {
        shares = std::lcm(shares, std::uint64_t{op.parts});
        if (shares > most_slices) return {};
        if (op.type == OpType::pipeline) unit = op.unit_bytes;
        scratch_outside |= uses_scratch(op);
      }
    }
  }
  const auto slices = static_cast<std::uint32_t>(shares);
  if (unit == 0) return {{slices, slices}};
  // One round a chunk; some; and, where scratch is too small for a chunk, rounds that come around to the same place.
  std::vector<Cut> cuts = {{slices, slices}, {3 * slices, 3 * slices}};
  const std::uint64_t slots = scratch_chunk_bytes(plan) / unit;
  if (plan.reuse_scratch && !scratch_outside && slots > 0 && slots + 2 <= most_slices) {
    cuts.push_back({static_cast<std::uint32_t>(slots + 2), static_cast<std::uint32_t>(slots)});
  }
  while (cuts.size() > 1 && more_than_bytes(plan, cuts.back().slices - 1) >= plan.max_bytes) cuts.pop_back();
  return cuts;
}

std::uint64_t scratch_chunk_bytes(const Plan& plan) {
  const std::uint64_t chunks = plan.gpus.empty() ? 0 : plan.gpus.front().scratch_chunks;
  return chunks == 0 ? 0 : reused_scratch_bytes / (plan.double_scratch ? 2 : 1) / chunks;
}

std::uint64_t more_than_bytes(const Plan& plan, std::uint32_t slices) {
  std::uint64_t unit = 0;
  for (const Gpu& gpu : plan.gpus) {
    for (const Block& block : gpu.blocks) {
      for (const Operation& op : block.operations) unit = std::max(unit, op.unit_bytes);
    }
  }
  return unit * slices * std::max(plan.gpus.front().input_chunks, plan.gpus.front().output_chunks);
}

Layout::Layout(const Plan& plan, Cut cut) : plan_(plan), cut_(cut) {
  const Gpu& gpu = plan.gpus.front();
  const auto ranks = static_cast<std::uint32_t>(plan.gpus.size());
  input_chunks_ = gpu.input_chunks;
  output_chunks_ = gpu.output_chunks;
  // In place, plans name one buffer and may leave the other out.
  if (plan.in_place) {
    if (plan.collective == Collective::all_gather) {
      if (input_chunks_ == 0) input_chunks_ = output_chunks_ / ranks;
      if (output_chunks_ == 0) output_chunks_ = input_chunks_ * ranks;
      user_chunks_ = std::max<std::size_t>(output_chunks_, std::size_t{input_chunks_} * ranks);
    } else if (plan.collective == Collective::reduce_scatter) {
      if (input_chunks_ == 0) input_chunks_ = output_chunks_ * ranks;
      if (output_chunks_ == 0) output_chunks_ = input_chunks_ / ranks;
      user_chunks_ = std::max<std::size_t>(input_chunks_, std::size_t{output_chunks_} * ranks);
    } else {
      input_chunks_ = output_chunks_ = std::max(input_chunks_, output_chunks_);
      user_chunks_ = input_chunks_;
    }
  } else {
    user_chunks_ = std::size_t{input_chunks_} + output_chunks_;
  }
  for (const Gpu& one : plan.gpus) scratch_chunks_ = std::max<std::size_t>(scratch_chunks_, one.scratch_chunks);
  per_gpu_ = user_chunks_ * cut.slices + scratch_chunks_ * cut.scratch_slots;
  cells_ = per_gpu_ * plan.gpus.size();
}

std::size_t Layout::base(Buffer buffer, std::size_t gpu) const {
  const std::size_t first = gpu * per_gpu_;
  if (buffer == Buffer::scratch) return first + user_chunks_ * cut_.slices;
  if (!plan_.in_place) return first + (buffer == Buffer::output ? std::size_t{input_chunks_} * cut_.slices : 0);
  if (!parts_of_one(plan_.collective)) return first;
  const bool whole = (plan_.collective == Collective::all_gather) == (buffer == Buffer::output);
  const std::size_t part = plan_.collective == Collective::all_gather ? input_chunks_ : output_chunks_;
  return whole ? first : first + gpu * part * cut_.slices;
}

std::vector<std::size_t> Layout::cells(const Operand& operand, std::size_t gpu, std::uint32_t part, std::uint32_t parts,
                                       std::optional<std::uint32_t> round) const {
  const std::size_t start = base(operand.buffer, gpu);
  const std::size_t slots = operand.buffer == Buffer::scratch ? cut_.scratch_slots : cut_.slices;
  if (round) return {start + operand.index * slots + (slots < cut_.slices ? *round % slots : *round)};
  const std::size_t total = std::size_t{operand.count} * cut_.slices;
  const std::size_t first = part * total / parts;
  const std::size_t last = (part + std::size_t{1}) * total / parts;
  std::vector<std::size_t> found(last - first);
  std::iota(found.begin(), found.end(), start + operand.index * slots + first);
  return found;
}

std::pair<std::size_t, std::size_t> Layout::user_cells(std::size_t gpu) const {
  return {gpu * per_gpu_, gpu * per_gpu_ + user_chunks_ * cut_.slices};
}

bool Layout::is_scratch(std::size_t cell) const { return cell % per_gpu_ >= user_chunks_ * cut_.slices; }

std::size_t Layout::input_cell(std::size_t gpu, std::uint32_t chunk, std::uint32_t slice) const {
  return base(Buffer::input, gpu) + std::size_t{chunk} * cut_.slices + slice;
}

std::size_t Layout::output_cell(std::size_t gpu, std::uint32_t chunk, std::uint32_t slice) const {
  return base(Buffer::output, gpu) + std::size_t{chunk} * cut_.slices + slice;
}

std::string Layout::name(std::size_t cell) const {
  const std::size_t at = cell % per_gpu_;
  const std::size_t user = user_chunks_ * cut_.slices;
  if (at >= user) return fmt::format("scratch chunk {}", (at - user) / cut_.scratch_slots);
  const std::size_t chunk = at / cut_.slices;
  if (!plan_.in_place) {
    return chunk < input_chunks_ ? fmt::format("input chunk {}", chunk)
                                 : fmt::format("output chunk {}", chunk - input_chunks_);
  }
  return fmt::format("chunk {}", chunk);
}

}  // namespace moire::mscclpp
