// At which sizes an algorithm gets stuck because connections hold only so many calls, and who then waits for whom.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/algorithms/msccl/algorithm.hpp"
#include "models/algorithms/proof/schedule.hpp"

namespace moire::msccl {

using proof::WaitKind;

// One wait of a cycle: this step waits, and the next of the cycle could end it.
struct Blocked {
  std::int32_t gpu = 0;
  std::int32_t block = 0;
  std::int32_t step = 0;
  std::uint32_t call = 0;   // of the step's calls
  std::uint32_t calls = 1;  // that the step makes
  WaitKind kind = WaitKind::dependency;
  std::int32_t on_gpu = 0;
  std::int32_t on_block = 0;
  std::int32_t on_step = none;  // that a dependency names
  std::int32_t from = none;     // of the connection that is empty or full
  std::int32_t to = none;
  std::int32_t channel = 0;
};

struct Deadlock {
  // It hangs where a call carries this many chunks or fewer; 0: never, most_chunks: always.
  std::uint32_t chunks_per_call_le = 0;
  std::optional<std::uint64_t> above_bytes;  // the same as the whole buffer's size
  std::uint32_t at_chunks_per_call = 0;      // where this cycle is
  std::vector<Blocked> cycle;

  bool never() const { return chunks_per_call_le == 0; }
  bool always() const { return chunks_per_call_le == most_chunks; }
};

// Where `chunks_per_call` is given, the cycle is the one there, if it hangs there.
Deadlock find_deadlock(const Algorithm& algorithm, const proof::Program& program, const Fifo& fifo,
                       std::optional<std::uint32_t> chunks_per_call);

// Values of chunks_per_call that differ in how many calls some step makes, from the fewest chunks to the most. Each
// stands for those up to the next.
std::vector<std::uint32_t> distinct_cuts(const Algorithm& algorithm);

}  // namespace moire::msccl
