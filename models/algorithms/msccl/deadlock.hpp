// Finds the sizes at which an algorithm deadlocks because connections hold a limited number of calls, and the cycle of
// waits.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/algorithms/msccl/algorithm.hpp"
#include "models/algorithms/proof/schedule.hpp"

namespace moire::msccl {

using proof::WaitKind;

// One wait of a cycle: this step waits, and only the next one of the cycle could end the wait.
struct Blocked {
  std::int32_t gpu = 0;
  std::int32_t block = 0;
  std::int32_t step = 0;
  std::uint32_t call = 0;   // which call of the step
  std::uint32_t calls = 1;  // calls that the step makes
  WaitKind kind = WaitKind::dependency;
  std::int32_t on_gpu = 0;
  std::int32_t on_block = 0;
  std::int32_t on_step = none;  // the step that a dependency names
  std::int32_t from = none;     // of the connection that is empty or full
  std::int32_t to = none;
  std::int32_t channel = 0;
};

struct Deadlock {
  // It hangs if a call carries at most this many chunks. 0: never; most_chunks: always.
  std::uint32_t chunks_per_call_le = 0;
  std::optional<std::uint64_t> above_bytes;  // the same limit as a size of the whole buffer
  std::uint32_t at_chunks_per_call = 0;      // the cut at which this cycle was found
  std::vector<Blocked> cycle;

  bool never() const { return chunks_per_call_le == 0; }
  bool always() const { return chunks_per_call_le == most_chunks; }
};

// If `chunks_per_call` is given and the algorithm hangs there, the cycle is the one at that cut.
Deadlock find_deadlock(const Algorithm& algorithm, const proof::Program& program, const Fifo& fifo,
                       std::optional<std::uint32_t> chunks_per_call);

// The values of chunks_per_call at which some step changes its number of calls, ascending. Each represents all values
// up to the next.
std::vector<std::uint32_t> distinct_cuts(const Algorithm& algorithm);

}  // namespace moire::msccl
