#include "models/algorithms/mscclpp/memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace moire::mscclpp {

namespace {

constexpr std::uint32_t most_slices = 4096;  // of a chunk

using ir::Collective;

// Numbers of chunks in the buffers of a GPU as the collective counts them. A plan for in-place calls may state the
// number of one buffer only.
struct Chunks {
  std::uint32_t input = 0;
  std::uint32_t output = 0;
};
Chunks chunks_of(const Plan& plan) {
  const Gpu& gpu = plan.gpus.front();
  const auto ranks = static_cast<std::uint32_t>(plan.gpus.size());
  Chunks made{gpu.input_chunks, gpu.output_chunks};
  if (!plan.in_place) return made;
  if (plan.collective == Collective::all_gather) {
    if (made.input == 0) made.input = made.output / ranks;
    made.output = std::max(made.output, made.input * ranks);
  } else if (plan.collective == Collective::reduce_scatter) {
    if (made.output == 0) made.output = made.input / ranks;
    made.input = std::max(made.input, made.output * ranks);
  } else {
    made.input = made.output = std::max(made.input, made.output);
  }
  return made;
}

std::int64_t whole_of(const Plan& plan, Cut cut) {
  const std::int64_t chunks = chunks_of(plan).input;
  return chunks * cut.slices * (plan.collective == Collective::all_gather ? plan.ranks() : 1);
}

proof::Layout memory_of(const Plan& plan, Cut cut) {
  const Chunks chunks = chunks_of(plan);
  std::vector<proof::Sizes> sizes;
  for (const Gpu& gpu : plan.gpus) {
    sizes.push_back({std::int64_t{chunks.input} * cut.slices, std::int64_t{chunks.output} * cut.slices,
                     std::int64_t{gpu.scratch_chunks} * cut.scratch_slots});
  }
  return proof::Layout(sizes, proof::shape_of(plan.collective, plan.ranks(), whole_of(plan, cut)),
                       plan.in_place ? proof::CallPattern::in_place : proof::CallPattern::out_of_place);
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
  // Try three numbers of rounds per chunk: one, three, and two more than the scratch buffer has slots.
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

Layout::Layout(const Plan& plan, Cut cut)
    : plan_(plan),
      cut_(cut),
      input_chunks_(chunks_of(plan).input),
      memory_(memory_of(plan, cut)),
      goal_(plan.collective, plan.ranks(), whole_of(plan, cut), memory_) {}

std::vector<std::size_t> Layout::cells(const Operand& operand, std::size_t gpu, std::uint32_t part, std::uint32_t parts,
                                       std::optional<std::uint32_t> round) const {
  const std::size_t start = memory_.cell(index(gpu), operand.buffer, 0);
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
  return {memory_.first(index(gpu)), memory_.cell(index(gpu), Buffer::scratch, 0)};
}

std::vector<std::size_t> Layout::inputs(std::size_t gpu) const {
  std::vector<std::size_t> all(static_cast<std::size_t>(goal_.inputs(index(gpu))));
  std::iota(all.begin(), all.end(), std::size_t{memory_.cell(index(gpu), Buffer::input, 0)});
  return all;
}

std::vector<std::uint32_t> Layout::expected(std::size_t gpu, std::size_t slice) const {
  std::vector<std::uint32_t> sum;
  for (const proof::Contribution& from : goal_.expected(index(gpu), index(slice)))
    sum.push_back(memory_.cell(from.gpu, Buffer::input, from.chunk));
  return sum;
}

std::string Layout::name(std::size_t cell) const {
  const std::size_t gpu = gpu_of(cell);
  const auto [first, scratch] = user_cells(gpu);
  if (cell >= scratch) return fmt::format("gpu {} scratch chunk {}", gpu, (cell - scratch) / cut_.scratch_slots);
  const std::size_t chunk = (cell - first) / cut_.slices;
  if (plan_.in_place) return fmt::format("gpu {} chunk {}", gpu, chunk);
  return chunk < input_chunks_ ? fmt::format("gpu {} input chunk {}", gpu, chunk)
                               : fmt::format("gpu {} output chunk {}", gpu, chunk - input_chunks_);
}

std::string misfit(const Plan& plan) {
  const Gpu& gpu = plan.gpus.front();
  const auto ranks = static_cast<std::uint32_t>(plan.gpus.size());
  const std::string shown =
      fmt::format("there are {} input and {} output chunks for {} gpus", gpu.input_chunks, gpu.output_chunks, ranks);
  const std::uint64_t in = gpu.input_chunks;
  const std::uint64_t out = gpu.output_chunks;
  const bool both = in > 0 && out > 0;
  const bool lacks_one = !both && !plan.in_place;
  switch (plan.collective) {
    case Collective::all_reduce:
    case Collective::broadcast:
    case Collective::reduce:
      return lacks_one || (both && in != out) ? shown : "";
    case Collective::all_to_all:
      return lacks_one || (both && in != out) || std::max(in, out) % ranks != 0 ? shown : "";
    case Collective::all_gather:
      return lacks_one || (both && out != in * ranks) || (in == 0 && out % ranks != 0) ? shown : "";
    case Collective::reduce_scatter:
      return lacks_one || (both && in != out * ranks) || (out == 0 && in % ranks != 0) ? shown : "";
    default:
      return "";
  }
}

}  // namespace moire::mscclpp
