#include "models/algorithms/proof/channels.hpp"

#include <cmath>
#include <map>
#include <numeric>
#include <tuple>

#include "sim/core/invariant.hpp"

namespace moire::proof {

namespace {

std::int64_t whole(double bytes) {
  MOIRE_INVARIANT(bytes == std::floor(bytes), "a proof needs whole bytes");
  return static_cast<std::int64_t>(bytes);
}

class Lowering {
 public:
  Lowering(const ir::ChannelProgram& channels, std::int32_t ranks) : channels_(channels), ranks_(ranks) {}

  // Returns the program with positions and sizes in bytes; fit() converts them to cells.
  Program run() {
    for (std::int32_t rank = 0; rank < ranks_; ++rank) {
      const std::uint32_t blocks = channels_.channels_of(static_cast<ir::Rank>(rank)) * channels_.strands();
      for (std::uint32_t b = 0; b < blocks; ++b) add(rank, b);
      program_.first.push_back(static_cast<std::uint32_t>(program_.blocks.size()));
    }
    resolve_waits();
    return std::move(program_);
  }

 private:
  void add(std::int32_t rank, std::uint32_t number) {
    const auto b = static_cast<std::uint32_t>(program_.blocks.size());
    Program::Block& block = program_.blocks.emplace_back();
    block.gpu = rank;
    block.index = static_cast<std::int32_t>(number);
    const auto r = static_cast<ir::Rank>(rank);
    const std::uint32_t channel = number / channels_.strands();
    const std::uint32_t strand = number % channels_.strands();
    ir::Step from;
    for (std::uint32_t n = 0; channels_.step(r, channel, strand, n, from); ++n, from = {}) {
      const ir::Effect does = ir::effect(from.op);
      const ir::Places places = channels_.places(r, channel, strand, n);
      MOIRE_INVARIANT(from.sources == 1, "a step that is proved reads one source");
      MOIRE_INVARIANT(static_cast<std::uint32_t>(from.op) < ir::ops && !from.far,
                      "a proof of FIFOs has no one-sided step");
      Step& step = block.steps.emplace_back();
      step.op = from.op;
      step.src_buffer = places.src.buffer;
      step.dst_buffer = places.dst.buffer;
      if (from.op != ir::Op::none) step.count = static_cast<std::uint32_t>(whole(from.bytes));
      step.src_offset = static_cast<std::int32_t>(whole(places.src.begin));
      step.dst_offset = static_cast<std::int32_t>(whole(places.dst.begin));
      const auto at = static_cast<std::int32_t>(block.steps.size()) - 1;
      if (does.receives) connection(step.in, static_cast<std::int32_t>(from.from), rank, from.in).receiver = b;
      if (does.sends) connection(step.out, rank, static_cast<std::int32_t>(from.to), from.out).sender = b;
      if (from.raise != ir::no_semaphore) {
        step.publishes = true;
        raises_[{rank, from.raise}].push_back({b, at});
      }
      if (from.wait != ir::no_semaphore) waits_.push_back({b, at, {rank, from.wait}, from.wait_count});
    }
  }

  Connection& connection(std::uint32_t& number, std::int32_t from, std::int32_t to, std::uint32_t channel) {
    const auto next = static_cast<std::uint32_t>(program_.connections.size());
    const auto [found, fresh] = connections_.try_emplace({from, to, channel}, next);
    if (fresh) program_.connections.push_back({from, to, static_cast<std::int32_t>(channel), nobody, nobody});
    number = found->second;
    return program_.connections[number];
  }

  // Turns each wait for a semaphore into a wait for a step. Only one channel raises a semaphore, so the step of its
  // n-th raise is known.
  void resolve_waits() {
    for (const Waiting& wait : waits_) {
      const auto& raised = raises_[wait.semaphore];
      MOIRE_INVARIANT(wait.count >= 1 && wait.count <= static_cast<std::int64_t>(raised.size()),
                      "a step raises each semaphore as often as a wait needs");
      const auto& [block, step] = raised[static_cast<std::size_t>(wait.count) - 1];
      program_.blocks[wait.block].steps[wait.step].waits_for = block;
      program_.blocks[wait.block].steps[wait.step].waits_step = step;
    }
  }

  using Semaphore = std::pair<std::int32_t, std::uint32_t>;  // rank, number
  struct Waiting {
    std::uint32_t block;
    std::int32_t step;
    Semaphore semaphore;
    std::int64_t count;
  };

  const ir::ChannelProgram& channels_;
  const std::int32_t ranks_;
  Program program_;
  std::map<std::tuple<std::int32_t, std::int32_t, std::uint32_t>, std::uint32_t> connections_;
  std::map<Semaphore, std::vector<std::pair<std::uint32_t, std::int32_t>>> raises_;
  std::vector<Waiting> waits_;
};

// Converts all sizes and positions from bytes to cells, of which `part` bytes are a whole number. Returns the size of a
// cell in bytes.
std::int64_t fit(Program& program, std::int64_t part) {
  std::int64_t cell = part;
  for (const Program::Block& block : program.blocks) {
    for (const Step& step : block.steps)
      cell = std::gcd(std::gcd(cell, std::int64_t{step.count}),
                      std::gcd(std::int64_t{step.src_offset}, std::int64_t{step.dst_offset}));
  }
  for (Program::Block& block : program.blocks) {
    for (Step& step : block.steps) {
      step.count = static_cast<std::uint32_t>(step.count / cell);
      step.src_offset = static_cast<std::int32_t>(step.src_offset / cell);
      step.dst_offset = static_cast<std::int32_t>(step.dst_offset / cell);
    }
  }
  return cell;
}

}  // namespace

Proof prove(const ir::ChannelProgram& channels, const Claim& claim, std::uint32_t slots) {
  Program program = Lowering(channels, claim.ranks).run();
  const bool parts = claim.collective != ir::Collective::all_reduce && claim.collective != ir::Collective::broadcast;
  const std::int64_t cell = fit(program, parts ? claim.bytes / claim.ranks : claim.bytes);
  const std::int64_t cells = claim.bytes / cell;
  const std::optional<Shape> shape = shape_of(claim.collective, claim.ranks, cells);
  MOIRE_INVARIANT(shape, "the collective defines a result");
  // Scratch is as large as the whole buffer, for algorithms that keep sums there.
  const Layout layout(std::vector<Sizes>(static_cast<std::size_t>(claim.ranks), {shape->input, shape->output, cells}),
                      shape, claim.pattern);
  const Goal goal(claim.collective, claim.ranks, cells, layout, claim.root);
  Proof proof;
  const Schedule run = schedule(program, uncut, slots, true);
  if (!run.complete) {
    proof.cycle = cycle_of(program, run.stuck);
    return proof;
  }
  proof.result = execute(program, layout, goal, run.order, uncut);
  proof.races = find_races(program, layout, run.order, uncut, slots);
  return proof;
}

}  // namespace moire::proof
