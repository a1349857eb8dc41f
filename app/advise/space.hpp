// The schedules among which advice chooses: what may change in a scenario of one or two queues without changing its
// work.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/study/prepare.hpp"
#include "app/study/scenario.hpp"

namespace moire::advise {

// The `advise:` mapping of a scenario. It also accepts the schedule keys of the operators in use (`channels`,
// `engine`). Each key takes a list of values to try; an absent key has default values, and an empty list leaves the
// setting alone.
struct AdviseSpec {
  std::optional<std::vector<std::string>> launch;
  std::optional<std::vector<std::string>> priority;
  std::optional<std::vector<std::int64_t>> cu_partition;
  std::optional<std::vector<std::int64_t>> cu_limit;
  bool combine = true;
  static void describe(config::Describer<AdviseSpec>& d);
};

struct Space {
  std::string comm;                  // the queue that yields: the one that communicates, or that has fewer workgroups
  std::string compute;               // the other one; empty if there is one queue only
  std::int64_t comm_workgroups = 0;  // on one rank, as written
  std::int64_t compute_workgroups = 0;
  std::vector<study::Choice> schedules;         // the first is the file as written
  std::vector<study::PreparedRunPtr> prepared;  // for each schedule
  std::vector<std::int64_t> splits;             // numbers of CUs that may be reserved for `comm`
  std::vector<std::string> left_out;            // "dma: why it is impossible", once per reason

  bool two_queues() const { return !compute.empty(); }
  std::uint32_t queues() const { return two_queues() ? 2 : 1; }
};

// The search space of the scenario without its variants. Returns nothing and reports why if there is nothing to advise
// on.
std::optional<Space> space_of(const study::Scenario& scenario, study::Preparer& preparer,
                              config::Diagnostics& diagnostics);

// The scenario with the schedules as its variants.
study::Scenario with_schedules(const study::Scenario& scenario, std::vector<study::Choice> schedules);

// A change that reserves `cus` CUs for a queue.
study::Choice reservation(const std::string& queue, std::int64_t cus, const config::Place& place);

}  // namespace moire::advise
