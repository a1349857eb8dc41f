// Runs a program's calls without time, and finds one possible order, or the waits in which the program gets stuck. The
// condition that a call waits for stays true once it is true, so every order ends in the same state.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "models/algorithms/proof/program.hpp"

namespace moire::proof {

// What a thread block waits for: the end of a step of another block (dependency), a call that has been sent over its
// connection (data), or a connection that can hold one more call (slot).
enum class WaitKind : std::uint8_t { dependency, data, slot };
struct Wait {
  std::uint32_t block = 0;
  std::int32_t step = 0;
  std::uint32_t call = 0;  // the call of the step that waits, counted from 0
  WaitKind kind = WaitKind::dependency;
  std::uint32_t on = 0;  // the block whose progress would end the wait
};

struct Schedule {
  bool complete = false;
  std::uint64_t calls = 0;
  std::vector<std::uint32_t> order;  // the block of each call, in order
  std::vector<Wait> stuck;           // one wait for each block that did not finish
};

// Runs the calls of a program whose connections hold `slots` calls each, and returns their order or the waits in which
// they got stuck. Without `keep_order`, Schedule::order is empty.
Schedule schedule(const Program& program, std::uint32_t cells_per_call, std::uint32_t slots, bool keep_order);

// Every stuck block waits for another stuck block, so following the waits leads into a cycle. Returns this cycle.
std::vector<Wait> cycle_of(const Program& program, const std::vector<Wait>& stuck);

// One call: it carries the cells [first, first + count) of a step.
struct Call {
  std::uint32_t block = 0;
  std::int32_t step = 0;
  std::uint32_t first = 0;
  std::uint32_t count = 0;   // 0 for a step that only waits
  std::uint32_t number = 0;  // among all calls of the block
  bool last = false;         // the last call of its step
};

// Enumerates each block's calls; blocks may be queried in any order.
class Calls {
 public:
  Calls(const Program& program, std::uint32_t cells_per_call)
      : program_(program), chunks_(cells_per_call), at_(program.blocks.size()) {}

  Call next(std::uint32_t block) {
    At& at = at_[block];
    const Step& step = program_.blocks[block].steps[at.step];
    Call call{block, at.step, at.call * chunks_, 0, at.number++, false};
    if (step.count > call.first) call.count = std::min<std::uint32_t>(chunks_, step.count - call.first);
    call.last = ++at.call == calls_of(step.count, chunks_);
    if (call.last) {
      ++at.step;
      at.call = 0;
    }
    return call;
  }

 private:
  struct At {
    std::int32_t step = 0;
    std::uint32_t call = 0;
    std::uint32_t number = 0;
  };
  const Program& program_;
  const std::uint32_t chunks_;
  std::vector<At> at_;
};

}  // namespace moire::proof
