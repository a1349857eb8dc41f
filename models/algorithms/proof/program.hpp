// The form in which programs are proved. Blocks (thread blocks, or strands: groups of a channel's threads) take steps,
// which use FIFO connections and work on cells of memory. MSCCL algorithms (models/algorithms/msccl) and channel
// programs (channels.hpp) are translated to this form.
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
  bool publishes = false;  // other blocks may wait for the end of this step
  ir::Buffer src_buffer = ir::Buffer::input;
  ir::Buffer dst_buffer = ir::Buffer::input;
  std::uint32_t count = 0;      // cells in a row
  std::int32_t src_offset = 0;  // cells
  std::int32_t dst_offset = 0;
  std::uint32_t in = nobody;         // index of the connection that the step receives from
  std::uint32_t out = nobody;        // index of the connection that the step sends to
  std::uint32_t waits_for = nobody;  // index of a block of the same rank that the step waits for
  std::int32_t waits_step = none;    // the step of that block whose end the step waits for
};

// A FIFO that keeps order and returns credits to the sender.
struct Connection {
  std::int32_t from = 0;
  std::int32_t to = 0;
  std::int32_t channel = 0;
  std::uint32_t sender = nobody;    // index of the block that sends
  std::uint32_t receiver = nobody;  // index of the block that receives
};

struct Program {
  struct Block {
    std::int32_t gpu = 0;
    std::int32_t index = 0;  // among the blocks of its GPU
    std::vector<Step> steps;
  };

  std::int32_t ranks() const { return static_cast<std::int32_t>(first.size()) - 1; }
  std::uint32_t block(std::int32_t gpu, std::int32_t index) const {
    return first[gpu] + static_cast<std::uint32_t>(index);
  }

  std::vector<std::uint32_t> first = {0};  // index of each GPU's first block; last: the number of blocks
  std::vector<Block> blocks;
  std::vector<Connection> connections;
};

// Names a step; gpu is `none` if there is no step to name.
struct StepAt {
  std::int32_t gpu = none;
  std::int32_t block = 0;
  std::int32_t step = 0;
  bool known() const { return gpu != none; }
  auto operator<=>(const StepAt&) const = default;
};

// A step moves its cells in one or more calls. The cut, `cells_per_call`, is the largest number of cells that a call
// carries. Library algorithms make one call for each step, so their steps are uncut.
inline constexpr std::uint32_t uncut = std::uint32_t{1} << 30;

// Returns how many calls a step of `count` cells makes. A step that only waits makes one call.
constexpr std::uint32_t calls_of(std::uint32_t count, std::uint32_t cells_per_call) {
  return count == 0 ? 1 : (count + cells_per_call - 1) / cells_per_call;
}

}  // namespace moire::proof
