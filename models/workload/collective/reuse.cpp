#include "models/workload/collective/reuse.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace moire::collective {

namespace {

constexpr std::int64_t unknown = -1;

// Returns for each step of a rank's thread blocks when it begins, if each chunk takes the same time. `unknown`: thread
// blocks that wait for each other never get to the step.
std::vector<std::vector<std::int64_t>> times_of(const std::vector<msccl::ThreadBlock>& blocks) {
  std::vector<std::vector<std::int64_t>> times;
  for (const msccl::ThreadBlock& block : blocks) times.emplace_back(block.steps.size(), unknown);
  const auto end = [&](std::size_t b, std::size_t s) {
    return times[b][s] == unknown ? unknown : times[b][s] + blocks[b].steps[s].count;
  };
  std::vector<std::size_t> next(blocks.size(), 0);
  for (bool advanced = true; advanced;) {
    advanced = false;
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      for (std::size_t& s = next[b]; s < blocks[b].steps.size(); ++s) {
        const msccl::Step& step = blocks[b].steps[s];
        std::int64_t time = s == 0 ? 0 : end(b, s - 1);
        if (step.depends_block != msccl::none) {
          const std::int64_t other =
              end(static_cast<std::size_t>(step.depends_block), static_cast<std::size_t>(step.depends_step));
          if (other == unknown) break;
          time = std::max(time, other);
        }
        times[b][s] = time;
        advanced = true;
      }
    }
  }
  return times;
}

std::int64_t chunks_of(const msccl::ThreadBlock& block) {
  std::int64_t chunks = 0;
  for (const msccl::Step& step : block.steps) chunks += step.count;
  return chunks;
}

}  // namespace

Reuse reuse_of(const msccl::Algorithm& algorithm, std::size_t rank, const proof::Layout& layout) {
  const std::vector<msccl::ThreadBlock>& blocks = algorithm.gpus[rank].blocks;
  const std::vector<std::vector<std::int64_t>> times = times_of(blocks);
  using Use = std::pair<std::int64_t, std::int64_t>;  // time, and number of chunks that the thread block moves
  constexpr Use never{std::numeric_limits<std::int64_t>::max(), 0};
  std::vector<Use> first(layout.cells(static_cast<std::int64_t>(rank)), never);
  const auto chunk = [&](msccl::Buffer buffer, std::int32_t offset) -> Use& {
    const auto at = static_cast<std::int64_t>(rank);
    return first[layout.cell(at, buffer, offset) - layout.first(at)];
  };
  std::vector<std::int64_t> moved;
  for (const msccl::ThreadBlock& block : blocks) moved.push_back(chunks_of(block));
  const auto use_of = [&](std::size_t b, std::size_t s, std::int32_t c) { return Use{times[b][s] + c, moved[b]}; };
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    for (std::size_t s = 0; s < blocks[b].steps.size(); ++s) {
      const msccl::Step& step = blocks[b].steps[s];
      const msccl::Effect does = effect(step.type);
      if (times[b][s] == unknown) continue;
      for (std::int32_t c = 0; c < step.count; ++c) {
        const auto use = [&](Use& of) { of = std::min(of, use_of(b, s, c)); };
        if (does.reads_src) use(chunk(step.src_buffer, step.src_offset + c));
        if (does.reads_dst || does.writes_dst) use(chunk(step.dst_buffer, step.dst_offset + c));
      }
    }
  }
  Reuse made;
  made.chunks = std::count_if(first.begin(), first.end(), [&](const Use& use) { return use != never; });
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    std::vector<bool>& again = made.again.emplace_back(blocks[b].steps.size(), false);
    for (std::size_t s = 0; s < again.size(); ++s) {
      const msccl::Step& step = blocks[b].steps[s];
      const msccl::Effect does = effect(step.type);
      again[s] = does.loads() > 0 && times[b][s] != unknown;
      for (std::int32_t c = 0; c < step.count; ++c) {
        if (does.reads_src) again[s] = again[s] && chunk(step.src_buffer, step.src_offset + c) < use_of(b, s, c);
        if (does.reads_dst) again[s] = again[s] && chunk(step.dst_buffer, step.dst_offset + c) < use_of(b, s, c);
      }
    }
  }
  return made;
}

}  // namespace moire::collective
