#include "models/algorithms/proof/races.hpp"

#include <algorithm>
#include <cstdlib>

#include "models/algorithms/proof/happens_before.hpp"

namespace moire::proof {

namespace {

constexpr std::size_t told = 16;

// Returns the access to a cell, with buffer and chunk as the step names them.
Access access_of(const Program& program, const Layout& layout, const Touch& touch, std::uint32_t cell) {
  const Program::Block& block = program.blocks[touch.block];
  const Step& step = block.steps[touch.step];
  const ir::Effect does = effect(step.op);
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

// Finds races within single calls. All threads of a block carry out a call together, so nothing orders its reads and
// writes of shifted parts of the same memory.
void find_overlaps(const Program& program, const Layout& layout, std::uint32_t cells_per_call, Races& races) {
  for (const Program::Block& block : program.blocks) {
    for (std::size_t s = 0; s < block.steps.size(); ++s) {
      const Step& step = block.steps[s];
      const ir::Effect does = effect(step.op);
      if (!does.reads_src || !does.writes_dst) continue;
      const std::int64_t src = layout.cell(block.gpu, step.src_buffer, step.src_offset);
      const std::int64_t dst = layout.cell(block.gpu, step.dst_buffer, step.dst_offset);
      const std::int64_t shared = std::min<std::int64_t>(cells_per_call, step.count) - std::abs(src - dst);
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

Races find_races(const Program& program, const Layout& layout, const std::vector<std::uint32_t>& order,
                 std::uint32_t cells_per_call, std::uint32_t slots) {
  Races races;
  races.cells_per_call = cells_per_call;
  find_overlaps(program, layout, cells_per_call, races);
  const std::vector<Conflict> conflicts = find_conflicts(program, layout, order, cells_per_call);
  const std::vector<bool> ordered = are_ordered(program, conflicts, order, cells_per_call, slots);
  for (std::size_t i = 0; i < conflicts.size(); ++i) {
    if (ordered[i]) continue;
    add({access_of(program, layout, conflicts[i].first, conflicts[i].cell),
         access_of(program, layout, conflicts[i].second, conflicts[i].cell)},
        races);
  }
  return races;
}

}  // namespace moire::proof
