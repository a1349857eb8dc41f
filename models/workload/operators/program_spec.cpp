#include "models/workload/operators/program_spec.hpp"

#include <fmt/format.h>

#include <charconv>

#include "sim/config/suggest.hpp"

namespace moire::operators {

namespace {

constexpr int highest = 16;

// Levels are 0 ("normal") to 16 ("high"); "low" is -1.
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
              "A queue (stream) of every rank: a list of operations, or this map. Paths of changes leave `operations` "
              "out in both forms: program.queues.comm.priority, program.queues.comm.0.all_to_all.engine.");
  d.field("priority", &QueueSpec::priority,
          "low, normal, high, or 0 (normal) to 16 (high): pending workgroups of queues with a higher priority are "
          "placed first; who runs is not stopped")
      .example("high")
      .or_default();
  d.field("cu_partition", &QueueSpec::cu_partition,
          "CUs reserved for kernels of this queue, spread over the groups of CUs; they use no others, and other queues "
          "use the rest. 0: none")
      .range(0, 4096)
      .example("8")
      .or_default();
  d.field("cu_limit", &QueueSpec::cu_limit,
          "Kernels of this queue use at most so many CUs, and persistent ones size themselves for them; other queues "
          "may use them too. 0: no limit")
      .range(0, 4096)
      .example("124")
      .or_default();
  d.field("operations", &QueueSpec::operations, "Operations in order, each one operator with its keys")
      .example("[{gemm: {m: 8192, n: 8192, k: 8192}}]");
  d.check("priority", [](const QueueSpec& s) -> std::optional<config::Problem> {
    if (level_of(s.priority)) return std::nullopt;
    return config::Problem{fmt::format("is {}", config::in_quotes(s.priority)),
                           fmt::format("write low, normal or high, or a number from 0 to {}", highest)};
  });
  d.check("cu_limit", [](const QueueSpec& s) -> std::optional<config::Problem> {
    if (s.cu_partition == 0 || s.cu_limit == 0) return std::nullopt;
    return config::Problem{"stands beside cu_partition",
                           "a queue with CUs of its own uses no others, leave one of them out"};
  });
}

int QueueSpec::priority_level() const { return level_of(priority).value_or(0); }

void ProgramSpec::describe(config::Describer<ProgramSpec>& d) {
  d.component("program", "What every rank does.");
  d.field("grid", &ProgramSpec::grid,
          "Ranks as a grid, sizes by name, the first one fastest: rank = tp + 8 pp. Each name is a group (ranks that "
          "differ in it "
          "alone communicate) and a number in `where` formulas")
      .range(1, 1 << 20)
      .example("{tp: 8, pp: 4, dp: 4}")
      .optional();
  d.field("groups", &ProgramSpec::groups,
          "Process groups by name (`moire explain group`); operations name one: group: tp")
      .example("{node: {by: node}}")
      .optional();
  d.field("queues", &ProgramSpec::queues,
          "Queues by name: a list of operations, or a map with attributes (`moire explain queue`)")
      .example("{compute: [...], comm: {priority: high, operations: [...]}}");
  d.field("order", &ProgramSpec::order,
          "concurrent: queues run beside each other; serial: one after the other in launch order, as if all their "
          "operations stood in one queue")
      .choices({{"concurrent", program::Order::concurrent}, {"serial", program::Order::serial}})
      .or_default();
  d.field("launch", &ProgramSpec::launch,
          "Queues in the order in which the host enqueues their operations, host.enqueue apart; those not named follow "
          "in file order")
      .example("[comm, compute]")
      .optional();
}

}  // namespace moire::operators
