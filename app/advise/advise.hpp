// Simulates every schedule of one or two queues in a search space, and reports the fastest one and where its time goes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/advise/space.hpp"
#include "app/report/document.hpp"
#include "app/study/blame.hpp"

namespace moire::advise {

struct Tried {
  study::Choice schedule;
  study::PreparedRunPtr prepared;
  study::RunResult result;
  std::optional<double> fraction_of_ideal;
};

// The time of each queue alone, with `cus` CUs reserved for the one that communicates.
struct Split {
  std::int64_t cus = 0;
  Time compute;
  Time comm;
  Time larger() const { return std::max(compute, comm); }
};

// How busy the machine's capacities are in an interval of a run.
struct Stretch {
  std::string name;  // "both run", "compute alone"
  Time begin, end;
  std::vector<std::pair<std::string, double>> busy;  // busiest first
};

// Where the time of one schedule goes.
struct Account {
  std::size_t tried = 0;
  std::vector<study::QueueBlame> blame;
  std::vector<Time> lost;  // by queue: time in the schedule minus time alone
  std::vector<Stretch> stretches;
};

// Schedules within this fraction of the fastest one's time count as equally good; the best is the one of these with the
// fewest changes.
inline constexpr double good_enough = 0.005;

struct Advice {
  Space space;
  // Of two queues: each alone, with the schedule as written; the sum and the longest of their times.
  std::vector<study::QueueResult> isolated;
  Time serial, ideal;
  std::vector<Tried> tried;          // the first is the schedule as written; those that deadlock are left out
  std::vector<std::size_t> ranking;  // indices into `tried`, best first
  std::vector<Split> splits;
  // The schedules that rules of thumb choose: launch the smaller kernel first; reserve CUs such that the slower queue
  // alone is fastest.
  std::optional<std::size_t> by_workgroups, by_split;
  std::vector<Account> accounts;  // of the schedule as written and of the best; one if they are the same

  std::size_t best() const { return ranking.front(); }
  // The fastest schedule that is not equally good; empty if all are.
  std::optional<std::size_t> next() const;
  std::size_t as_good() const;                // number of equally good schedules, including the best
  double over_best(std::size_t tried) const;  // (its time - the best time) / the best time
};

// Returns nothing and reports why if there is nothing to advise on. `at_once` simulations run in parallel.
std::optional<Advice> advise(const study::Scenario& scenario, std::size_t at_once, config::Diagnostics& diagnostics);

report::Document document_of(const study::Scenario& scenario, const Advice& advice);

}  // namespace moire::advise
