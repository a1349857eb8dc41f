#include "models/collective/timing.hpp"

#include <algorithm>

#include "models/collective/all_to_all.hpp"
#include "models/machine/machine.hpp"
#include "models/replay/replay.hpp"
#include "sim/core/invariant.hpp"

namespace moire::models::collective {

Time all_to_all_time(const machine::SystemSpec& system, const LibrarySpec& library, Bytes bytes_per_peer,
                     std::int64_t max_channels) {
  LibrarySpec limited = library;
  if (max_channels > 0) limited.max_channels = std::min(limited.max_channels, max_channels);
  program::Program program(static_cast<program::Rank>(system.ranks()));
  program.queues.resize(1);
  builder::Builder build{system, program, program.queues[0]};
  append_library_all_to_all(build, limited, bytes_per_peer);
  core::RunLoop loop;
  std::string error;
  const std::unique_ptr<machine::Machine> machine = machine::Machine::build(system, loop, error);
  MOIRE_INVARIANT(machine != nullptr, error);
  const replay::Result result = replay::Replay(*machine, program).run();
  MOIRE_INVARIANT(result.deadlock.empty(), result.deadlock);
  return result.operations[0].end - result.operations[0].first_workgroup;
}

}  // namespace moire::models::collective
