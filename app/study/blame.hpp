// Where queues that run beside each other lose their time.
//
// The run is simulated again with one kind of sharing after the other taken away, by giving every queue what the
// part shares for itself (the kinds are declared by the parts of the machine). What a queue ends earlier by then is
// what it lost to sharing that kind, as long as the later kinds are shared. With everything apart a queue ends as it
// does alone, so the parts add up to what it lost, to the picosecond.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "app/study/simulate.hpp"
#include "models/hardware/machine/machine.hpp"

namespace moire::study {

// What lost time is charged to, in the order in which parts declare it: "memory", "link", ...
struct LostPart {
  std::string_view name;
  std::string_view meaning;
};
const std::vector<LostPart>& lost_parts();

struct QueueBlame {
  std::string queue;
  std::vector<Time> lost = std::vector<Time>(lost_parts().size());  // of each part
  Time of(std::string_view part) const;
  void charge(std::string_view part, Time more);
  Time sum() const;
};

// `together`: the run; `alone`: each of its queues alone; `simulated`: the run with some things apart. Empty where one
// of those deadlocks, as a program may whose end hangs on who is first.
std::vector<QueueBlame> blame(const PreparedRun& run, const std::vector<QueueResult>& together,
                              const std::vector<QueueResult>& alone,
                              const std::function<RunResult(const machine::Apart&)>& simulated);

}  // namespace moire::study
