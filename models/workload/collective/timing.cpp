#include "models/workload/collective/timing.hpp"

#include <algorithm>

#include "models/hardware/machine/machine.hpp"
#include "models/hardware/replay/fold.hpp"
#include "models/hardware/replay/replay.hpp"
#include "sim/core/invariant.hpp"

namespace moire::collective {

program::Program alone(const libraries::EquippedSystem& system, const Collective& collective) {
  program::Program program(static_cast<program::Rank>(system.ranks()));
  program.queues.resize(1);
  builder::Builder build{system, program, program.queues[0]};
  append(build, collective, name_of(collective.kind));
  return program;
}

// Uses the queue model of the network, because SimGrid allows one engine per process and the run itself may need it.
Time time_of(libraries::EquippedSystem system, const Collective& collective) {
  system.network.model = machine::NetworkModel::queue;
  const program::Program program = alone(system, collective);
  config::Problem error;
  const auto nodes = static_cast<program::Rank>(system.nodes);
  std::unique_ptr<machine::Machine> machine = machine::Machine::build(system, error, {}, nodes);
  if (machine == nullptr) return Time::max();
  const auto build = [&](program::Rank images) {
    return images == nodes && machine ? std::move(machine) : machine::Machine::build(system, error, {}, images);
  };
  const replay::Result result = replay::run_folded(replay::fold_of(*machine, program), build, program).result;
  MOIRE_INVARIANT(result.deadlock.empty(), result.deadlock);
  const bool kernel = collective.method.engine != Engine::dma;
  const replay::OperationTimes& first = result.operations.front();
  Time end;
  for (const replay::OperationTimes& times : result.operations) end = std::max(end, times.end);
  return end - (kernel ? first.first_workgroup : first.begin);
}

}  // namespace moire::collective
