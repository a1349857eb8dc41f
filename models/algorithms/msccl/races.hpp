// Accesses to the same chunk that nothing orders: program order, dependencies, data and credits of connections.
#pragma once

#include <cstdint>
#include <vector>

#include "models/algorithms/msccl/result.hpp"

namespace moire::msccl {

struct Access {
  StepAt at;
  Buffer buffer = Buffer::input;  // as the step names it
  std::int64_t chunk = 0;
  bool writes = false;
};
struct Race {
  Access first;  // in the order of the schedule; `second` might as well come before it
  Access second;
  std::uint64_t chunks = 1;  // on which these two steps race
};

struct Races {
  std::uint64_t count = 0;            // pairs of accesses
  std::vector<Race> told;             // the first pairs of steps
  std::uint32_t chunks_per_call = 0;  // the cut at which they were found
};

// Races among the calls of `order`, which schedule() made for this cut and these slots.
Races find_races(const Wiring& wiring, CallPattern pattern, const std::vector<std::uint32_t>& order,
                 std::uint32_t chunks_per_call, std::uint32_t slots);

}  // namespace moire::msccl
