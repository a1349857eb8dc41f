// Determines where queues that run side by side lose time.
//
// The run is simulated several times, each time with one more kind of sharing removed: every queue then has the shared
// resource for itself. The parts of the machine declare the kinds. If a queue now ends earlier, the difference is the
// time that it lost to this kind of sharing. Without any sharing a queue ends at the same time as it does alone, so the
// losses of a queue add up exactly.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "app/study/simulate.hpp"
#include "models/hardware/machine/machine.hpp"

namespace moire::study {

// The causes to which lost time is charged, in the order in which the parts declare them: "memory", "link", ...
struct LostPart {
  std::string_view name;
  std::string_view meaning;
};
const std::vector<LostPart>& lost_parts();

struct QueueBlame {
  std::string queue;
  std::vector<Time> lost = std::vector<Time>(lost_parts().size());  // by cause, as lost_parts()
  Time of(std::string_view part) const;
  void charge(std::string_view part, Time more);
  Time sum() const;
};

// `together`: the queues in the run; `alone`: each queue alone; `simulated`: simulates the run without some kinds of
// sharing. Returns nothing if one of these simulations deadlocks, which can happen if the program's progress depends on
// which queue is first.
std::vector<QueueBlame> blame(const PreparedRun& run, const std::vector<QueueResult>& together,
                              const std::vector<QueueResult>& alone,
                              const std::function<RunResult(const machine::Apart&)>& simulated);

}  // namespace moire::study
