// From the `program:` mapping of a scenario to a program.
#include <algorithm>

#include "models/operators/registry.hpp"
#include "sim/config/suggest.hpp"

namespace moire::models::operators {

namespace {

std::vector<std::string> names() {
  std::vector<std::string> known;
  for (const Operator& op : all()) known.push_back(op.name);
  return known;
}

bool append_operation(const config::Node& node, builder::Builder build, config::Diagnostics& diagnostics) {
  if (!node.is_map() || node.entries.size() != 1) {
    diagnostics.error(node.place, "an operation is one operator with its parameters, found " + config::found(node),
                      "write {" + all().front().name + ": {...}}");
    return false;
  }
  const auto& entry = node.entries.front();
  const auto op = std::find_if(all().begin(), all().end(), [&](const Operator& o) { return o.name == entry.key; });
  if (op == all().end()) {
    diagnostics.error(entry.key_place, "unknown operator '" + entry.key + "'",
                      config::suggestion(entry.key, names(), "operators"));
    return false;
  }
  build.path += "." + entry.key;
  return op->append(entry.value, build, diagnostics);
}

struct QueueSpec {
  int priority = 0;
  config::Node operations;
  static void describe(config::Describer<QueueSpec>& d) {
    d.component("queue", "A queue (stream) of every rank.");
    d.field("priority", &QueueSpec::priority, "Pending workgroups of queues with a higher priority are placed first")
        .range(0, 16)
        .or_default();
    d.field("operations", &QueueSpec::operations, "Operations in order");
  }
};

struct ProgramSpec {
  std::vector<std::pair<std::string, config::Node>> queues;
  static void describe(config::Describer<ProgramSpec>& d) {
    d.component("program", "What every rank does.");
    d.field("queues", &ProgramSpec::queues,
            "Queues by name: a list of operations, or {priority: 1, operations: [...]}");
  }
};

}  // namespace

std::unique_ptr<program::Program> build_program(const config::Node& node, const machine::SystemSpec& system,
                                                config::Diagnostics& diagnostics) {
  const std::size_t before = diagnostics.size();
  const std::optional<ProgramSpec> spec = config::parse<ProgramSpec>(node, diagnostics, nullptr, "program");
  if (!spec) return nullptr;
  if (spec->queues.empty()) {
    diagnostics.error(node.place, "a program without queues", "write queues: {main: [...]}");
    return nullptr;
  }
  auto made = std::make_unique<program::Program>(static_cast<program::Rank>(system.ranks()));
  made->queues.reserve(spec->queues.size());
  for (const auto& [name, queue_node] : spec->queues) {
    program::Queue& queue = made->queues.emplace_back();
    queue.name = name;
    const config::Node* operations = &queue_node;
    std::optional<QueueSpec> queue_spec;
    if (queue_node.is_map()) {
      queue_spec = config::parse<QueueSpec>(queue_node, diagnostics, nullptr, "program.queues." + name);
      if (!queue_spec) continue;
      queue.priority = queue_spec->priority;
      operations = &queue_spec->operations;
    }
    if (!operations->is_sequence() || operations->items.empty()) {
      diagnostics.error(operations->place,
                        "queue '" + name + "' has no operations, found " + config::found(*operations),
                        "write a list: [{" + all().front().name + ": {...}}]");
      continue;
    }
    const std::string path = "program.queues." + name + (queue_node.is_map() ? ".operations." : ".");
    for (std::size_t i = 0; i < operations->items.size(); ++i) {
      append_operation(operations->items[i], {system, *made, queue, path + std::to_string(i)}, diagnostics);
    }
  }
  if (diagnostics.size() > before) return nullptr;
  return made;
}

}  // namespace moire::models::operators
