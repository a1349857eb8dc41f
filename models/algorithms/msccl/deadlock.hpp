// Finds the sizes of the buffer at which an algorithm deadlocks because connections hold a limited number of calls, and
// the cycle of waits.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/algorithms/msccl/algorithm.hpp"
#include "models/algorithms/proof/schedule.hpp"

namespace moire::msccl {

using proof::WaitKind;

// One wait of a cycle. Thread block `block` of GPU `gpu` waits in its step `step` until thread block `on_block` of GPU
// `on_gpu` makes progress. The latter is the thread block of the next wait in the cycle.
struct Blocked {
  std::int32_t gpu = 0;
  std::int32_t block = 0;
  std::int32_t step = 0;
  std::uint32_t call = 0;   // the call of the step that waits, counted from 0
  std::uint32_t calls = 1;  // calls that the step makes
  WaitKind kind = WaitKind::dependency;
  std::int32_t on_gpu = 0;
  std::int32_t on_block = 0;
  std::int32_t on_step = none;  // the step that a dependency names
  std::int32_t from = none;     // the sending GPU of the connection that is empty or full
  std::int32_t to = none;       // the receiving GPU of that connection
  std::int32_t channel = 0;
};

struct Deadlock {
  // The algorithm hangs if a call carries at most this many chunks. 0: never; most_chunks: always.
  std::uint32_t chunks_per_call_le = 0;
  std::optional<std::uint64_t> above_bytes;  // the algorithm hangs above this size of the whole buffer
  std::uint32_t at_chunks_per_call = 0;      // the number of chunks per call at which `cycle` was found
  std::vector<Blocked> cycle;

  bool never() const { return chunks_per_call_le == 0; }
  bool always() const { return chunks_per_call_le == most_chunks; }
};

// Returns the sizes at which the algorithm deadlocks. Deadlock::cycle is the cycle at `chunks_per_call` if this is
// given and the algorithm hangs at it, else the cycle at the largest number of chunks per call at which the algorithm
// hangs.
Deadlock find_deadlock(const Algorithm& algorithm, const proof::Program& program, const Fifo& fifo,
                       std::optional<std::uint32_t> chunks_per_call);

// Returns, in ascending order, 1 and all larger numbers of chunks per call at which some step makes fewer calls than at
// the number before. Each entry represents all numbers from itself up to the next entry, which it does not include.
std::vector<std::uint32_t> distinct_cuts(const Algorithm& algorithm);

}  // namespace moire::msccl
