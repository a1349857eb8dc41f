// Translates one thread block of a plan to the one-sided steps of a channel.
#pragma once

#include <cstdint>
#include <vector>

#include "models/algorithms/ir/step.hpp"
#include "models/algorithms/mscclpp/complaints.hpp"
#include "models/algorithms/mscclpp/plan.hpp"
#include "models/algorithms/mscclpp/plan_semaphores.hpp"

namespace moire::mscclpp {

// A step of one round of a pipeline, and how much its wait count grows in each round.
struct Item {
  ir::Step step;
  std::int64_t waits_per_round = 0;
};
// Steps that are run `rounds` times, each time on the next `unit` bytes of a run of chunks. Steps outside of pipelines
// are run once, with a unit of 0.
struct Segment {
  std::vector<Item> items;
  std::uint64_t rounds = 1;
  double unit = 0;
  std::uint32_t first = 0;  // number of steps of the block before this segment
};

// What the translations of all blocks of a plan share.
struct Translation {
  const Plan& plan;
  std::uint64_t chunk = 0;  // in bytes
  std::int32_t node = 0;    // GPUs of a node
  Complaints& complaints;
  PlanSemaphores semaphores;
  std::vector<ir::Move> moves;  // Step::move is an index into this list
};

// Returns the steps of a block, whose number among the blocks of GPU `gpu` is `block`. Reports operations that channels
// cannot do on this machine or whose time is not modelled; the steps are then incomplete. Adds moves and semaphores
// that no earlier block needed to the translation, so blocks must be translated in their order.
std::vector<Segment> block_steps(Translation& translation, std::size_t gpu, std::size_t block);

}  // namespace moire::mscclpp
