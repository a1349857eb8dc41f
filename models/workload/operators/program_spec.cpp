#include "models/workload/operators/program_spec.hpp"

#include <fmt/format.h>

#include <charconv>

#include "sim/config/suggest.hpp"

namespace moire::operators {

namespace {

constexpr int highest = 16;

// Returns the level of a priority: 0 ("normal") to 16 ("high"), or -1 ("low"); nothing if the text is none of these.
std::optional<int> level_of(const std::string& priority) {
  if (priority == "low") return -1;
  if (priority == "normal") return 0;
  if (priority == "high") return highest;
  int level = 0;
  const auto [end, error] = std::from_chars(priority.data(), priority.data() + priority.size(), level);
  if (error != std::errc() || end != priority.data() + priority.size() || level < 0 || level > highest) {
    return std::nullopt;
  }
  return level;
}

}  // namespace

void QueueSpec::describe(config::Describer<QueueSpec>& d) {
  d.component("queue",
              "A queue (stream) of every rank: a list of operations, or this map. In both forms, paths of changes omit "
              "`operations`: program.queues.comm.priority, program.queues.comm.0.all_to_all.engine.");
  d.field("priority", &QueueSpec::priority,
          "low, normal, high, or 0 (normal) to 16 (high): pending workgroups of queues with a higher priority are "
          "placed first; running workgroups are not stopped")
      .example("high")
      .or_default();
  d.field("cu_partition", &QueueSpec::cu_partition,
          "Number of CUs that are reserved for kernels of this queue, spread over the groups of CUs: these kernels use "
          "no other CUs, and other queues use the rest. 0: none")
      .range(0, 4096)
      .example("8")
      .or_default();
  d.field("cu_limit", &QueueSpec::cu_limit,
          "Largest number of CUs that kernels of this queue use, for which persistent kernels size themselves; other "
          "queues may use these CUs as well. 0: no limit")
      .range(0, 4096)
      .example("124")
      .or_default();
  d.field("operations", &QueueSpec::operations, "Operations in order, each consisting of one operator with its keys")
      .example("[{gemm: {m: 8192, n: 8192, k: 8192}}]");
  d.check("priority", [](const QueueSpec& s) -> std::optional<config::Problem> {
    if (level_of(s.priority)) return std::nullopt;
    return config::Problem{fmt::format("is {}", config::in_quotes(s.priority)),
                           fmt::format("write low, normal or high, or a number from 0 to {}", highest)};
  });
  d.check("cu_limit", [](const QueueSpec& s) -> std::optional<config::Problem> {
    if (s.cu_partition == 0 || s.cu_limit == 0) return std::nullopt;
    return config::Problem{"is given together with cu_partition",
                           "remove one of them: a queue with reserved CUs uses no others"};
  });
}

int QueueSpec::priority_level() const { return level_of(priority).value_or(0); }

void ProgramSpec::describe(config::Describer<ProgramSpec>& d) {
  d.component("program", "What every rank does.");
  d.field("grid", &ProgramSpec::grid,
          "The ranks as a grid: names and sizes, with the first name varying fastest, so that rank = tp + 8 pp. Each "
          "name is a group, whose communicators have the ranks that differ in this dimension only. In `where` formulas "
          "it is the coordinate of a rank")
      .range(1, 1 << 20)
      .example("{tp: 8, pp: 4, dp: 4}")
      .optional();
  d.field("groups", &ProgramSpec::groups,
          "Process groups by name (`moire explain group`); operations refer to them by name: group: tp")
      .example("{node: {by: node}}")
      .optional();
  d.field("queues", &ProgramSpec::queues,
          "Queues by name: each a list of operations, or a map with attributes (`moire explain queue`)")
      .example("{compute: [...], comm: {priority: high, operations: [...]}}");
  d.field("order", &ProgramSpec::order,
          "concurrent: queues run at the same time; serial: queues run one after the other in launch order, as if all "
          "their operations were in one queue")
      .choices({{"concurrent", program::Order::concurrent}, {"serial", program::Order::serial}})
      .or_default();
  d.field("launch", &ProgramSpec::launch,
          "Order in which the host enqueues the operations of the queues, with host.enqueue in between; queues that "
          "are not named follow in the order of the file")
      .example("[comm, compute]")
      .optional();
}

}  // namespace moire::operators
