// The schedules that advice chooses from: what a scenario of two queues may change without changing its work.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/study/prepare.hpp"
#include "app/study/scenario.hpp"

namespace moire::advise {

// The `advise:` mapping of a scenario. Besides these keys it takes the schedule keys of the operators in use
// (`channels`, `engine`), each a list of values. A key that is absent has its default values; an empty list is never
// changed.
struct AdviseSpec {
  std::optional<std::vector<std::string>> launch;
  std::optional<std::vector<std::string>> priority;
  std::optional<std::vector<std::int64_t>> cu_partition;
  std::optional<std::vector<std::int64_t>> cu_limit;
  bool combine = true;
  static void describe(config::Describer<AdviseSpec>& d);
};

struct Space {
  std::string comm;                  // the queue that schedules give way to: it communicates, or has fewer workgroups
  std::string compute;               // the other one
  std::int64_t comm_workgroups = 0;  // of one rank, as written
  std::int64_t compute_workgroups = 0;
  std::vector<study::Choice> schedules;         // the first one is the file as written, without changes
  std::vector<study::PreparedRunPtr> prepared;  // of the schedules
  std::vector<std::int64_t> splits;             // CUs that may be reserved for `comm`
  std::vector<std::string> left_out;            // "dma: why it cannot be", one a schedule
};

// The scenario without variants, as written. Nothing, and the reasons in `diagnostics`, where there is nothing to
// advise on.
std::optional<Space> space_of(const study::Scenario& scenario, study::Preparer& preparer,
                              config::Diagnostics& diagnostics);

// A scenario whose variants are the schedules.
study::Scenario with_schedules(const study::Scenario& scenario, std::vector<study::Choice> schedules);

// `cus` CUs reserved for a queue.
study::Choice reservation(const std::string& queue, std::int64_t cus, const config::Place& place);

}  // namespace moire::advise
