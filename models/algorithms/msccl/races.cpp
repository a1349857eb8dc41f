#include "models/algorithms/msccl/races.hpp"

#include <algorithm>
#include <cstdlib>

#include "models/algorithms/msccl/happens_before.hpp"

namespace moire::msccl {

namespace {

constexpr std::size_t told = 16;

// The chunk as the step names it.
Access access_of(const Wiring& wiring, const Layout& layout, const Touch& touch, std::uint32_t cell) {
  const Wiring::Block& block = wiring.blocks[touch.block];
  const Step& step = block.steps()[touch.step];
  const Effect does = effect(step.type);
  Access access{{block.gpu, block.index, touch.step}, step.dst_buffer, 0, touch.writes};
  std::int64_t offset = step.dst_offset;
  const std::uint32_t src = does.reads_src ? layout.cell(block.gpu, step.src_buffer, step.src_offset) : nobody;
  if (!touch.writes && does.reads_src && cell >= src && cell < src + step.count) {
    access.buffer = step.src_buffer;
    offset = step.src_offset;
  }
  access.chunk = offset + (cell - layout.cell(block.gpu, access.buffer, offset));
  return access;
}

void add(const Race& race, Races& races) {
  races.count += race.chunks;
  const auto same = std::find_if(races.told.begin(), races.told.end(), [&](const Race& other) {
    return other.first.at == race.first.at && other.second.at == race.second.at;
  });
  if (same != races.told.end()) {
    same->chunks += race.chunks;
  } else if (races.told.size() < told) {
    races.told.push_back(race);
  }
}

// A call is the work of all threads of a block at once: where it reads what it writes elsewhere, nothing orders them.
void find_overlaps(const Wiring& wiring, const Layout& layout, std::uint32_t chunks_per_call, Races& races) {
  for (const Wiring::Block& block : wiring.blocks) {
    for (std::size_t s = 0; s < block.steps().size(); ++s) {
      const Step& step = block.steps()[s];
      const Effect does = effect(step.type);
      if (!does.reads_src || !does.writes_dst) continue;
      const std::int64_t src = layout.cell(block.gpu, step.src_buffer, step.src_offset);
      const std::int64_t dst = layout.cell(block.gpu, step.dst_buffer, step.dst_offset);
      const std::int64_t shared = std::min<std::int64_t>(chunks_per_call, step.count) - std::abs(src - dst);
      if (src == dst || shared <= 0) continue;
      const StepAt at{block.gpu, block.index, static_cast<std::int32_t>(s)};
      const std::int64_t common = std::max(src, dst);
      add({{at, step.src_buffer, step.src_offset + common - src, false},
           {at, step.dst_buffer, step.dst_offset + common - dst, true},
           static_cast<std::uint64_t>(shared)},
          races);
    }
  }
}

}  // namespace

Races find_races(const Wiring& wiring, CallPattern pattern, const std::vector<std::uint32_t>& order,
                 std::uint32_t chunks_per_call, std::uint32_t slots) {
  const Layout layout(wiring.algorithm, pattern);
  Races races;
  races.chunks_per_call = chunks_per_call;
  find_overlaps(wiring, layout, chunks_per_call, races);
  const std::vector<Conflict> conflicts = find_conflicts(wiring, layout, order, chunks_per_call);
  const std::vector<bool> ordered = are_ordered(wiring, conflicts, order, chunks_per_call, slots);
  for (std::size_t i = 0; i < conflicts.size(); ++i) {
    if (ordered[i]) continue;
    add({access_of(wiring, layout, conflicts[i].first, conflicts[i].cell),
         access_of(wiring, layout, conflicts[i].second, conflicts[i].cell)},
        races);
  }
  return races;
}

}  // namespace moire::msccl
