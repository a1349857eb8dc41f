// Which schedule of two queues is fastest, and why: every schedule of the space is simulated.
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

// Each queue alone with `cus` CUs reserved for the one that communicates.
struct Split {
  std::int64_t cus = 0;
  Time compute;
  Time comm;
  Time larger() const { return std::max(compute, comm); }
};

// Shares of the capacities in a stretch of a run.
struct Stretch {
  std::string name;  // "both run", "compute alone"
  Time begin, end;
  std::vector<std::pair<std::string, double>> busy;  // fullest first
};

// Where the time of one schedule goes.
struct Account {
  std::size_t tried = 0;
  std::vector<study::QueueBlame> blame;
  std::vector<Time> lost;  // by queue: together - alone
  std::vector<Stretch> stretches;
};

// Schedules this near to the fastest one are as good; of those the one with the fewest changes is best.
inline constexpr double good_enough = 0.005;

struct Advice {
  Space space;
  std::vector<study::QueueResult> isolated;  // as written
  Time serial, ideal;
  std::vector<Tried> tried;          // the first one is as written; schedules that deadlock are left out
  std::vector<std::size_t> ranking;  // of `tried`, the best first
  std::vector<Split> splits;
  // What the rules of thumb choose: the smaller kernel first, the split with the smaller maximum.
  std::optional<std::size_t> by_workgroups, by_split;
  std::vector<Account> accounts;  // as written and of the best one; one where they are the same

  std::size_t best() const { return ranking.front(); }
  // The fastest schedule that is not as good; nothing where all are.
  std::optional<std::size_t> next() const;
  std::size_t as_good() const;                // schedules that are, the best one among them
  double over_best(std::size_t tried) const;  // of its time
};

// Nothing, and the reasons in `diagnostics`, where there is nothing to advise on. `at_once` simulations side by side.
std::optional<Advice> advise(const study::Scenario& scenario, std::size_t at_once, config::Diagnostics& diagnostics);

report::Document document_of(const study::Scenario& scenario, const Advice& advice);

}  // namespace moire::advise
