// What is proved: blocks (thread blocks, channels) that walk through steps over FIFO connections, in cells of memory.
// MSCCL algorithms (models/algorithms/msccl) and channel programs (channels.hpp) become one.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "models/algorithms/ir/step.hpp"

namespace moire::proof {

inline constexpr std::uint32_t nobody = std::numeric_limits<std::uint32_t>::max();
inline constexpr std::int32_t none = -1;  // no such rank or step

struct Step {
  ir::Op op = ir::Op::none;
  bool publishes = false;  // others may wait for its end
  ir::Buffer src_buffer = ir::Buffer::input;
  ir::Buffer dst_buffer = ir::Buffer::input;
  std::uint32_t count = 0;      // consecutive cells
  std::int32_t src_offset = 0;  // cells
  std::int32_t dst_offset = 0;
  std::uint32_t in = nobody;  // connections
  std::uint32_t out = nobody;
  std::uint32_t waits_for = nobody;  // a block of the same rank, until this step of it, which publishes, is over
  std::int32_t waits_step = none;
};

// A FIFO in order, with credits back.
struct Connection {
  std::int32_t from = 0;
  std::int32_t to = 0;
  std::int32_t channel = 0;
  std::uint32_t sender = nobody;  // blocks
  std::uint32_t receiver = nobody;
};

struct Program {
  struct Block {
    std::int32_t gpu = 0;
    std::int32_t index = 0;  // on its GPU
    std::vector<Step> steps;
  };

  std::int32_t ranks() const { return static_cast<std::int32_t>(first.size()) - 1; }
  std::uint32_t block(std::int32_t gpu, std::int32_t index) const {
    return first[gpu] + static_cast<std::uint32_t>(index);
  }

  std::vector<std::uint32_t> first = {0};  // block of each GPU, and one behind the last
  std::vector<Block> blocks;
  std::vector<Connection> connections;
};

// A step, by number; gpu is none where there is none.
struct StepAt {
  std::int32_t gpu = none;
  std::int32_t block = 0;
  std::int32_t step = 0;
  bool known() const { return gpu != none; }
  auto operator<=>(const StepAt&) const = default;
};

// How far a transfer is cut: a call carries so many cells of its step at most. Library algorithms make one call a step.
inline constexpr std::uint32_t uncut = std::uint32_t{1} << 30;

// Calls of a step where a call carries up to `cells_per_call`; one of a step that only waits.
constexpr std::uint32_t calls_of(std::uint32_t count, std::uint32_t cells_per_call) {
  return count == 0 ? 1 : (count + cells_per_call - 1) / cells_per_call;
}

}  // namespace moire::proof
