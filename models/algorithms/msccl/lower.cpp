#include "models/algorithms/msccl/lower.hpp"

#include <algorithm>
#include <tuple>

namespace moire::msccl {

namespace {

using proof::nobody;

std::vector<proof::Sizes> sizes_of(const Algorithm& algorithm) {
  const proof::Shape shape = stated_shape(algorithm).value_or(proof::Shape{});
  std::vector<proof::Sizes> sizes;
  for (const Gpu& gpu : algorithm.gpus) {
    sizes.push_back({std::max<std::int64_t>(gpu.input_chunks, shape.input),
                     std::max<std::int64_t>(gpu.output_chunks, shape.output), gpu.scratch_chunks});
  }
  return sizes;
}

// Returns the step whose end satisfies a wait for `step`: `step` or the first step after it that has hasdep="1" and is
// not a nop.
std::int32_t publishing_step(const std::vector<Step>& steps, std::int32_t step) {
  const auto publishes = [](const Step& s) { return s.has_dependents && s.type != Op::none; };
  return static_cast<std::int32_t>(std::find_if(steps.begin() + step, steps.end(), publishes) - steps.begin());
}

struct Ends {
  std::uint32_t in = nobody;
  std::uint32_t out = nobody;
};

// Adds the connections that have a block at both ends, ordered by (from, to, channel). Returns for each block the
// connections that the block receives from and sends to.
std::vector<Ends> connect(const Algorithm& algorithm, proof::Program& program) {
  std::vector<proof::Connection> ends;
  for (std::uint32_t b = 0; b < program.blocks.size(); ++b) {
    const std::int32_t gpu = program.blocks[b].gpu;
    const ThreadBlock& block = algorithm.gpus[gpu].blocks[program.blocks[b].index];
    if (block.send != none) ends.push_back({gpu, block.send, block.channel, b, nobody});
    if (block.recv != none) ends.push_back({block.recv, gpu, block.channel, nobody, b});
  }
  const auto key = [](const proof::Connection& c) { return std::tuple(c.from, c.to, c.channel); };
  std::sort(ends.begin(), ends.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
  std::vector<Ends> of(program.blocks.size());
  for (std::size_t i = 0; i + 1 < ends.size(); ++i) {
    if (key(ends[i]) != key(ends[i + 1])) continue;
    proof::Connection whole = ends[i];
    whole.sender = std::min(whole.sender, ends[i + 1].sender);
    whole.receiver = std::min(whole.receiver, ends[i + 1].receiver);
    of[whole.sender].out = of[whole.receiver].in = static_cast<std::uint32_t>(program.connections.size());
    program.connections.push_back(whole);
    ++i;
  }
  return of;
}

}  // namespace

std::vector<CallPattern> call_patterns(const Algorithm& algorithm) {
  std::vector<CallPattern> patterns;
  if (algorithm.in_place) patterns.push_back(CallPattern::in_place);
  if (algorithm.out_of_place || !algorithm.in_place) patterns.push_back(CallPattern::out_of_place);
  return patterns;
}

std::optional<proof::Shape> stated_shape(const Algorithm& algorithm) {
  return proof::shape_of(algorithm.collective, algorithm.ranks(), algorithm.chunks);
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

std::uint64_t cells_of(const Algorithm& algorithm) {
  std::uint64_t cells = 0;
  for (const proof::Sizes& sizes : sizes_of(algorithm))
    cells += static_cast<std::uint64_t>(sizes.input + sizes.output + sizes.scratch);
  return cells;
}

proof::Layout layout_of(const Algorithm& algorithm, CallPattern pattern) {
  return proof::Layout(sizes_of(algorithm), stated_shape(algorithm), pattern);
}

proof::Program program_of(const Algorithm& algorithm) {
  proof::Program program;
  for (std::int32_t g = 0; g < algorithm.ranks(); ++g) {
    for (std::size_t b = 0; b < algorithm.gpus[g].blocks.size(); ++b)
      program.blocks.push_back({g, static_cast<std::int32_t>(b), {}});
    program.first.push_back(static_cast<std::uint32_t>(program.blocks.size()));
  }
  const std::vector<Ends> ends = connect(algorithm, program);
  for (std::uint32_t b = 0; b < program.blocks.size(); ++b) {
    proof::Program::Block& block = program.blocks[b];
    const Gpu& gpu = algorithm.gpus[block.gpu];
    for (const Step& from : gpu.blocks[block.index].steps) {
      const Effect does = effect(from.type);
      proof::Step step;
      step.op = from.type;
      step.publishes = from.has_dependents && from.type != Op::none;
      step.src_buffer = from.src_buffer;
      step.dst_buffer = from.dst_buffer;
      step.count = from.type == Op::none ? 0 : from.count;
      step.src_offset = from.src_offset;
      step.dst_offset = from.dst_offset;
      if (does.receives) step.in = ends[b].in;
      if (does.sends) step.out = ends[b].out;
      if (from.depends_block != none) {
        step.waits_for = program.block(block.gpu, from.depends_block);
        step.waits_step = publishing_step(gpu.blocks[from.depends_block].steps, from.depends_step);
      }
      block.steps.push_back(step);
    }
  }
  return program;
}

}  // namespace moire::msccl
