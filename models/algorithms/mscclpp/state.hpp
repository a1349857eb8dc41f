// The state of the run of a plan (execution.hpp): how far the thread blocks are, what the agents know, and what
// signals, semaphores, barriers and memory hold.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "models/algorithms/mscclpp/agents.hpp"
#include "models/algorithms/mscclpp/cells.hpp"
#include "models/algorithms/mscclpp/channel_ends.hpp"
#include "models/algorithms/mscclpp/faults.hpp"
#include "models/algorithms/mscclpp/memory.hpp"
#include "models/algorithms/mscclpp/plan.hpp"

namespace moire::mscclpp {

// A thread block.
struct Worker {
  std::uint32_t agent = 0;
  std::uint32_t gpu = 0;
  std::uint32_t block = 0;
  const std::vector<Operation>* operations = nullptr;
  std::size_t next = 0;     // index of its next operation, which may be a pipeline
  std::uint32_t round = 0;  // round of the pipeline at `next`
  std::size_t inner = 0;    // index of its next operation within this pipeline
  bool at_barrier = false;
  std::uint32_t time = 0;
  Knowledge knowledge;             // shared by all its threads
  std::vector<Knowledge> threads;  // what thread i learnt since the last barrier of the block
  Knowledge from_packets;          // what threads learnt from packets since this barrier

  bool ended() const { return next == operations->size(); }
  bool in_pipeline() const { return (*operations)[next].type == OpType::pipeline; }
  Site site() const;

  // Returns what thread `number` learnt since the last barrier of the block, or all that it knows.
  Knowledge& thread(std::size_t number);
  Knowledge known_to_thread(std::size_t number) const;
  // Lets the threads of the block meet at a barrier. From now on, each of them knows what any of them knew.
  void meet();
};

struct Semaphore {
  std::vector<Knowledge> given;  // entry i: the knowledge that signals 0 to i convey together
  std::size_t taken = 0;

  void give(const Knowledge& knowledge);
  bool can_take() const { return given.size() > taken; }
  const Knowledge& take() { return given[taken++]; }
};

struct Barrier {
  std::vector<std::size_t> arrived;  // thread blocks, as agents
  Knowledge knowledge;
};

struct State {
  State(const Plan& plan_to_run, Cut cut);
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // Returns the cells of an operand: one run, or one run for each member of a switch group. `round` is empty outside of
  // pipelines.
  std::vector<std::vector<std::size_t>> runs(const Worker& w, const Operation& op, const Operand& operand,
                                             std::optional<std::uint32_t> round) const;

  // Returns what the proxy of a port channel knows.
  Knowledge& proxy(std::size_t gpu, std::uint32_t channel) {
    return proxies[agents.proxy(gpu, channel) - agents.blocks];
  }

  const Plan& plan;
  Layout layout;
  Agents agents;
  ChannelEnds ends;
  Faults faults;
  Cells cells;
  std::vector<Worker> workers;  // by their agent
  std::vector<Knowledge> proxies;
  std::map<ChannelEnd, Semaphore> signals;                                // by the end that waits
  std::map<std::pair<std::size_t, std::uint32_t>, Semaphore> semaphores;  // of GPUs, between thread blocks
  std::map<std::pair<std::size_t, std::uint32_t>, Barrier> barriers;      // of GPUs
};

}  // namespace moire::mscclpp
