// Where queues that run beside each other lose their time.
//
// The run is simulated again with one kind of shared thing after the other given to every queue for itself: memory,
// links, DMA engines, what CUs do at a time, their clock, the places on them. What a queue ends earlier by then is what
// it lost to sharing that kind, as long as the later kinds are shared. With everything apart a queue ends as it does
// alone, so the parts add up to what it lost, to the picosecond.
#pragma once

#include <array>
#include <functional>
#include <string_view>
#include <vector>

#include "app/study/simulate.hpp"
#include "models/hardware/machine/machine.hpp"

namespace moire::study {

enum class Lost { memory, link, engine_queue, cu_share, clock, cu_wait, extra_waves, launch };
inline constexpr std::array<std::string_view, 8> lost_names = {"memory", "link",    "engine_queue", "cu_share",
                                                               "clock",  "cu_wait", "extra_waves",  "launch"};

struct QueueBlame {
  std::string queue;
  std::array<Time, lost_names.size()> lost{};
  Time of(Lost part) const { return lost[static_cast<std::size_t>(part)]; }
  Time sum() const;
};

// `together`: the run; `alone`: each of its queues alone; `simulated`: the run with some things apart. Empty where one
// of those deadlocks, as a program may whose end hangs on who is first.
std::vector<QueueBlame> blame(const PreparedRun& run, const std::vector<QueueResult>& together,
                              const std::vector<QueueResult>& alone,
                              const std::function<RunResult(const machine::Apart&)>& simulated);

}  // namespace moire::study
