// Simulates every schedule of one or two queues in a search space, and reports the fastest one and how its time is
// spent.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/advise/space.hpp"
#include "app/report/document.hpp"
#include "app/study/blame.hpp"

namespace moire::advise {

// A schedule that was simulated.
struct Tried {
  study::Choice schedule;
  study::PreparedRunPtr prepared;
  study::RunResult result;
  std::optional<double> fraction_of_ideal;
};

// The times of the two queues, each of which runs alone, if `cus` CUs are reserved for the communicating queue.
struct Split {
  std::int64_t cus = 0;
  Time compute;
  Time comm;
  Time larger() const { return std::max(compute, comm); }
};

// How busy each kind of capacity (HBM, links, CUs, ...) is in an interval of a run.
struct Stretch {
  std::string name;  // "both queues run", "compute continues alone"
  Time begin, end;
  std::vector<std::pair<std::string, double>> busy;  // kind and used share (0 to 1), busiest first
};

// How the time of one schedule is spent.
struct Account {
  std::size_t tried = 0;  // index in Advice::tried
  std::vector<study::QueueBlame> blame;
  std::vector<Time> lost;  // by queue: time in the schedule minus time alone
  std::vector<Stretch> stretches;
};

// The best schedule is the one with the fewest changes among those whose time exceeds the fastest schedule's time by at
// most this fraction. Schedules whose time exceeds the best schedule's by at most this fraction count as equally good.
inline constexpr double good_enough = 0.005;

struct Advice {
  Space space;
  // With two queues: the result of each queue when it runs alone, with the schedule as written. `serial` is the sum of
  // the times of the two queues, `ideal` the longer of these times.
  std::vector<study::QueueResult> isolated;
  Time serial, ideal;
  std::vector<Tried> tried;          // the first is the schedule as written; those that deadlock are left out
  std::vector<std::size_t> ranking;  // indices into `tried`, best first
  std::vector<Split> splits;
  // The schedules that rules of thumb choose. by_workgroups: launch the queue with fewer workgroups first. by_split:
  // reserve the number of CUs for which Split::larger() is smallest. Split::larger() is the longer of the times that
  // the two queues take alone.
  std::optional<std::size_t> by_workgroups, by_split;
  std::vector<Account> accounts;  // of the schedule as written and of the best; a single one if they are the same

  std::size_t best() const { return ranking.front(); }
  // Returns the fastest of the schedules that are not equally good as the best one; nothing if all are equally good.
  std::optional<std::size_t> next() const;
  std::size_t as_good() const;                // number of equally good schedules, including the best
  double over_best(std::size_t tried) const;  // (time of the schedule - best time) / best time
};

// Simulates all schedules of the scenario and returns the results. `at_once`: number of simulations that run in
// parallel. Returns nothing, and reports why, if the scenario has nothing that may be varied or deadlocks as written.
std::optional<Advice> advise(const study::Scenario& scenario, std::size_t at_once, config::Diagnostics& diagnostics);

// Returns the report that `moire advise` prints.
report::Document document_of(const study::Scenario& scenario, const Advice& advice);

}  // namespace moire::advise
