// The search space of `moire advise`: all schedules that a scenario of one or two queues can have without changing its
// work.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/study/prepare.hpp"
#include "app/study/scenario.hpp"

namespace moire::advise {

// The `advise:` mapping of a scenario. It also accepts the schedule keys of the operators that the scenario uses, such
// as `channels` and `engine`. Each key takes a list of values to try. If a key is absent, default values are tried. If
// its list is empty, the setting stays as written.
struct AdviseSpec {
  std::optional<std::vector<std::string>> launch;
  std::optional<std::vector<std::string>> priority;
  std::optional<std::vector<std::int64_t>> cu_partition;
  std::optional<std::vector<std::int64_t>> cu_limit;
  bool combine = true;
  static void describe(config::Describer<AdviseSpec>& d);
};

struct Space {
  std::string comm;     // the communicating queue: it has schedule keys or, if this does not decide, fewer workgroups
  std::string compute;  // the other queue; empty if there is only one
  std::int64_t comm_workgroups = 0;  // of the queue's largest kernel on one rank, as written
  std::int64_t compute_workgroups = 0;
  std::vector<study::Choice> schedules;         // the first is the file as written
  std::vector<study::PreparedRunPtr> prepared;  // for each schedule
  std::vector<std::int64_t> splits;             // numbers of CUs that may be reserved for `comm`
  std::vector<std::string> left_out;            // "engine dma: why it is impossible", one schedule per reason

  bool two_queues() const { return !compute.empty(); }
  std::uint32_t queues() const { return two_queues() ? 2 : 1; }
};

// Returns the search space of the scenario without its variants. Returns nothing, and reports why, if the scenario has
// nothing that may be varied.
std::optional<Space> space_of(const study::Scenario& scenario, study::Preparer& preparer,
                              config::Diagnostics& diagnostics);

// Returns a copy of the scenario whose variants are the schedules.
study::Scenario with_schedules(const study::Scenario& scenario, std::vector<study::Choice> schedules);

// Returns a schedule that reserves `cus` CUs for a queue. `place` is the place in the file to which errors refer.
study::Choice reservation(const std::string& queue, std::int64_t cus, const config::Place& place);

}  // namespace moire::advise
