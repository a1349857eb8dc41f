// Finds races: pairs of accesses to the same chunk, at least one of them a write, that nothing puts in order (neither
// program order, dependencies, nor the data and credits of connections).
#pragma once

#include <cstdint>
#include <vector>

#include "models/algorithms/proof/result.hpp"

namespace moire::proof {

struct Access {
  StepAt at;
  ir::Buffer buffer = ir::Buffer::input;  // as the step names it
  std::int64_t chunk = 0;
  bool writes = false;
};
struct Race {
  Access first;  // earlier in the schedule, but nothing prevents `second` from coming first
  Access second;
  std::uint64_t chunks = 1;  // number of chunks on which these two steps race
};

struct Races {
  std::uint64_t count = 0;           // number of pairs of accesses that race
  std::vector<Race> told;            // the first 16 pairs of steps that race, for messages
  std::uint32_t cells_per_call = 0;  // the number of cells per call at which the races were found
};

// Returns the races among the calls of `order`, which must be the result of schedule() for the same cells_per_call and
// slots.
Races find_races(const Program& program, const Layout& layout, const std::vector<std::uint32_t>& order,
                 std::uint32_t cells_per_call, std::uint32_t slots);

}  // namespace moire::proof
