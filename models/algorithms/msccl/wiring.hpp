// An algorithm with its thread blocks and connections numbered through, for those that walk through all of them.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "models/algorithms/msccl/algorithm.hpp"

namespace moire::msccl {

inline constexpr std::uint32_t nobody = std::numeric_limits<std::uint32_t>::max();

// A FIFO in order, with credits back.
struct Connection {
  std::int32_t from = 0;
  std::int32_t to = 0;
  std::int32_t channel = 0;
  std::uint32_t sender = nobody;  // thread blocks
  std::uint32_t receiver = nobody;
};

struct Wiring {
  struct Block {
    const ThreadBlock* block = nullptr;
    std::int32_t gpu = 0;
    std::int32_t index = 0;  // on its GPU
    std::uint32_t out = nobody;
    std::uint32_t in = nobody;
    const std::vector<Step>& steps() const { return block->steps; }
  };

  // The algorithm keeps the rules (rules.hpp) and outlives this.
  explicit Wiring(const Algorithm& algorithm);

  std::uint32_t block(std::int32_t gpu, std::int32_t index) const {
    return first[gpu] + static_cast<std::uint32_t>(index);
  }

  const Algorithm& algorithm;
  std::vector<std::uint32_t> first;  // block of each GPU, and one behind the last
  std::vector<Block> blocks;
  std::vector<Connection> connections;  // with a block at both ends, by (from, to, channel)
};

// Calls of a step where a call carries up to `chunks_per_call`; one of a nop, which only waits.
constexpr std::uint32_t calls_of(const Step& step, std::uint32_t chunks_per_call) {
  return step.type == Op::none ? 1 : (step.count + chunks_per_call - 1) / chunks_per_call;
}

// The step at which a wait for `step` of these steps ends: the first from there on that publishes.
std::int32_t publishing_step(const std::vector<Step>& steps, std::int32_t step);

}  // namespace moire::msccl
