// Determines where queues that run side by side lose time.
//
// The run is simulated several times, each time with one more kind of sharing removed: every queue then has the shared
// resource for itself. The parts of the machine declare the kinds. If a queue ends earlier than in the simulation
// before, the difference is the time that it lost to the removed kind of sharing. Without any sharing a queue ends at
// the same time as it does alone, so its losses add up to the difference between its end in the run and its end alone.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "app/study/simulate.hpp"
#include "models/hardware/machine/machine.hpp"

namespace moire::study {

// A cause to which lost time is charged, such as "memory" or "link". lost_parts() returns all causes, in the order in
// which the parts of the machine declare them.
struct LostPart {
  std::string_view name;
  std::string_view meaning;
};
const std::vector<LostPart>& lost_parts();

struct QueueBlame {
  std::string queue;
  std::vector<Time> lost = std::vector<Time>(lost_parts().size());  // by cause, in the order of lost_parts()
  Time of(std::string_view part) const;
  void charge(std::string_view part, Time more);
  Time sum() const;
};

// Returns the time that each queue lost to each cause. `together` has the times of the queues in the run, `alone` those
// of each queue alone. `simulated` simulates the run without some kinds of sharing. The result is empty if one of these
// simulations deadlocks. That can happen if the program ends only when one queue gets a resource before another queue.
std::vector<QueueBlame> blame(const PreparedRun& run, const std::vector<QueueResult>& together,
                              const std::vector<QueueResult>& alone,
                              const std::function<RunResult(const machine::Apart&)>& simulated);

}  // namespace moire::study
