// The `program:` mapping of a scenario: its queues, the CUs that each may use, and their launch order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/workload/groups/groups.hpp"
#include "sim/config/config.hpp"
#include "sim/program/program.hpp"

namespace moire::operators {

// A queue that is written as a mapping. A queue that is written as a list of operations has the default values of the
// other keys.
struct QueueSpec {
  std::string priority = "normal";
  std::int64_t cu_partition = 0;
  std::int64_t cu_limit = 0;
  config::Node operations;
  static void describe(config::Describer<QueueSpec>& d);

  int priority_level() const;
};

struct ProgramSpec {
  groups::Grid grid;
  std::vector<std::pair<std::string, groups::GroupSpec>> groups;
  std::vector<std::pair<std::string, config::Node>> queues;
  program::Order order = program::Order::concurrent;
  std::vector<std::string> launch;
  static void describe(config::Describer<ProgramSpec>& d);
};

}  // namespace moire::operators
