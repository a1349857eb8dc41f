// Builds a program from the `program:` mapping of a scenario.
#include <fmt/format.h>

#include <algorithm>

#include "models/hardware/cu/share_out.hpp"
#include "models/workload/groups/lift.hpp"
#include "models/workload/operators/program_spec.hpp"
#include "models/workload/operators/registry.hpp"
#include "sim/config/suggest.hpp"
#include "sim/config/unknown_key.hpp"
#include "sim/core/failure.hpp"

namespace moire::operators {

namespace {

std::vector<std::string> names() {
  std::vector<std::string> known;
  for (const builder::Operator& op : all()) known.push_back(op.name);
  return known;
}

// Removes from the operator's mapping the keys that every operation may have (MembersSpec), and returns them. Also
// reports and removes unknown keys, because only this function knows all keys that the mapping may have.
config::Node take_members(config::Node& mapping, const builder::Operator& op, config::Diagnostics& diagnostics) {
  config::Node members = mapping;
  members.entries.clear();
  if (!mapping.is_map()) return members;
  config::Catalogue catalogue;
  op.describe(catalogue);
  const config::Description& spec = *catalogue.find(op.name);
  const std::vector<std::string> keys = config::description<groups::MembersSpec>().keys();
  std::vector<config::Node::Entry> own;
  for (config::Node::Entry& entry : mapping.entries) {
    const bool of_all = std::find(keys.begin(), keys.end(), entry.key) != keys.end();
    if (!of_all && spec.find(entry.key) == nullptr && !(mapping.top && entry.key == "sources")) {
      config::report_unknown(entry, spec, diagnostics, keys);
      mapping.broken = true;
    } else {
      (of_all ? members.entries : own).push_back(std::move(entry));
    }
  }
  mapping.entries = std::move(own);
  return members;
}

bool append_operation(const config::Node& node, builder::Builder build, const groups::Groups& groups,
                      std::vector<builder::Exchange>& exchanges, config::Diagnostics& diagnostics) {
  if (!node.is_map() || node.entries.size() != 1) {
    diagnostics.error(node.place,
                      "an operation consists of one operator with its parameters, found " + config::found(node),
                      "write {" + all().front().name + ": {...}}");
    return false;
  }
  const auto& entry = node.entries.front();
  const builder::Operator* op = find(entry.key);
  if (!op) {
    diagnostics.error(entry.key_place, "unknown operator '" + entry.key + "'",
                      config::suggestion(entry.key, names(), "operators"));
    return false;
  }
  build.path += "." + entry.key;
  config::Node mapping = entry.value;
  const config::Node members = take_members(mapping, *op, diagnostics);
  const auto append = [&](builder::Builder& own) {
    try {
      if (!op->append(mapping, own, diagnostics)) return false;
    } catch (const core::TooLarge& problem) {
      diagnostics.error(entry.key_place, problem.what_is_wrong, problem.remedy);
      return false;
    }
    if (op->exchange) {
      builder::Exchange exchange = op->exchange(mapping, own.system);
      if (exchange.size.value > 0 || !exchange.stated.empty()) exchanges.push_back(std::move(exchange));
    }
    return true;
  };
  const auto placed = [&](const std::function<bool()>& appended, const groups::Layout* layout = nullptr) {
    const std::size_t first = build.queue.operations.size(), known = exchanges.size();
    if (!appended()) return false;
    for (std::size_t i = known; i < exchanges.size(); ++i) {
      exchanges[i].queue = build.program.number_of(build.queue);
      exchanges[i].first = first;
      exchanges[i].operations = build.queue.operations.size() - first;
      if (layout != nullptr)
        exchanges[i].communicators = std::make_shared<const std::vector<groups::Communicator>>(layout->communicators);
    }
    return true;
  };
  if (members.entries.empty()) return placed([&] { return append(build); });
  const auto spec = config::parse<groups::MembersSpec>(members, diagnostics, nullptr, build.path);
  if (!spec) return false;
  const auto layouts = groups.members(*spec, members, diagnostics);
  if (!layouts) return false;
  return std::all_of(layouts->begin(), layouts->end(), [&](const groups::Layout& layout) {
    return placed([&] { return groups::append_to(layout, build, append); }, &layout);
  });
}

// Reports an error at the key of a queue, or at the queue if the key is absent.
void reject(const config::Node& queue, std::string_view key, const std::string& what, const std::string& remedy,
            config::Diagnostics& diagnostics) {
  const config::Node* node = queue.find(key);
  diagnostics.error(node ? node->place : queue.place, what, remedy);
}

struct ReadQueue {
  const std::string& name;
  const config::Node& node;
  QueueSpec spec;
};

// Reads a queue, which is a mapping with attributes or only a list of operations.
std::optional<QueueSpec> read_queue(const std::string& name, const config::Node& node,
                                    config::Diagnostics& diagnostics) {
  if (node.is_map()) return config::parse<QueueSpec>(node, diagnostics, nullptr, "program.queues." + name);
  QueueSpec spec;
  spec.operations = node;
  return spec;
}

// Returns the CUs that each queue may use, by cu_partition (reservation) and cu_limit. If a number does not fit,
// reports an error at its key.
std::vector<std::vector<std::uint32_t>> cus_of(const std::vector<ReadQueue>& queues, const machine::GpuSpec& gpu,
                                               config::Diagnostics& diagnostics) {
  const std::int64_t all = gpu.compute.total_cus();
  const std::int64_t step = gpu.compute.partition_step;
  const std::size_t before = diagnostics.size();
  std::vector<cu::CuWish> wishes;
  std::int64_t reserved = 0;
  for (const ReadQueue& queue : queues) {
    wishes.push_back({queue.spec.cu_partition, queue.spec.cu_limit});
    const std::int64_t wanted = queue.spec.cu_partition;
    if (wanted % step != 0) {
      const std::int64_t less = wanted / step * step;
      reject(queue.node, "cu_partition",
             fmt::format("cu_partition {}: {} reserves CUs in steps of {}", wanted, gpu.name, step),
             less == 0 ? fmt::format("write {}", step) : fmt::format("write {} or {}", less, less + step), diagnostics);
    }
    if (wanted > 0 && (reserved += wanted) > all) {
      reject(queue.node, "cu_partition",
             fmt::format("the reservations so far need {} CUs, but {} has {}", reserved, gpu.name, all),
             "make the reservations smaller", diagnostics);
    }
  }
  if (diagnostics.size() > before) return {};
  for (const ReadQueue& queue : queues) {
    if (queue.spec.cu_partition == 0 && reserved == all) {
      diagnostics.error(queue.node.place,
                        fmt::format("all {} CUs are reserved, so that none is left for queue '{}'", all, queue.name),
                        "make a cu_partition smaller, or give this queue one too");
    } else if (queue.spec.cu_limit > all - reserved) {
      reject(queue.node, "cu_limit",
             fmt::format("cu_limit is {}, but only {} CUs are not reserved", queue.spec.cu_limit, all - reserved),
             fmt::format("write {} or less", all - reserved), diagnostics);
    }
  }
  if (diagnostics.size() > before) return {};
  return cu::share_out(gpu.compute, wishes);
}

// Returns the indices of the queues in launch order; empty if this is the order of the file.
std::vector<std::uint32_t> launch_order(const ProgramSpec& spec, const config::Node& node,
                                        config::Diagnostics& diagnostics) {
  std::vector<std::string> known;
  for (const auto& [name, queue] : spec.queues) known.push_back(name);
  std::vector<std::uint32_t> order;
  const config::Node* list = node.find("launch");
  for (std::size_t i = 0; i < spec.launch.size(); ++i) {
    const config::Place& place = list->items.size() > i ? list->items[i].place : list->place;
    const auto at = std::find(known.begin(), known.end(), spec.launch[i]);
    const auto queue = static_cast<std::uint32_t>(at - known.begin());
    if (at == known.end()) {
      diagnostics.error(place, "'program.launch' names no queue: " + config::in_quotes(spec.launch[i]),
                        config::suggestion(spec.launch[i], known, "queues"));
    } else if (std::find(order.begin(), order.end(), queue) != order.end()) {
      diagnostics.error(place, "'program.launch' has queue '" + spec.launch[i] + "' twice", "keep one of them");
    } else {
      order.push_back(queue);
    }
  }
  if (order.empty()) return order;
  for (std::uint32_t queue = 0; queue < known.size(); ++queue) {
    if (std::find(order.begin(), order.end(), queue) == order.end()) order.push_back(queue);
  }
  return order;
}

}  // namespace

BuiltProgram build_program(const config::Node& node, const libraries::EquippedSystem& system,
                           program::WgTraceFiles& traces, config::Diagnostics& diagnostics, builder::Untried* untried) {
  const std::size_t before = diagnostics.size();
  const std::optional<ProgramSpec> spec = config::parse<ProgramSpec>(node, diagnostics, nullptr, "program");
  if (!spec) return {};
  if (spec->queues.empty()) {
    diagnostics.error(node.place, "the program has no queues", "write queues: {main: [...]}");
    return {};
  }
  std::vector<ReadQueue> queues;
  for (const auto& [name, queue_node] : spec->queues) {
    std::optional<QueueSpec> queue = read_queue(name, queue_node, diagnostics);
    if (!queue) continue;
    const config::Node& operations = queue->operations;
    if (!operations.is_sequence() || operations.items.empty()) {
      diagnostics.error(operations.place, "queue '" + name + "' has no operations, found " + config::found(operations),
                        "write a list: [{" + all().front().name + ": {...}}]");
    }
    queues.push_back({name, queue_node, std::move(*queue)});
  }
  const auto groups = groups::Groups::read(spec->grid, spec->groups, node, static_cast<program::Rank>(system.ranks()),
                                           system.node.reach(), diagnostics);
  if (!groups) return {};
  BuiltProgram built;
  auto made = std::make_unique<program::Program>(static_cast<program::Rank>(system.ranks()));
  made->order = spec->order;
  made->launch = launch_order(*spec, node, diagnostics);
  const std::vector<std::vector<std::uint32_t>> cus = cus_of(queues, system.node.gpu, diagnostics);
  made->queues.resize(queues.size());
  for (std::size_t q = 0; q < queues.size(); ++q) {
    program::Queue& queue = made->queues[q];
    queue.name = queues[q].name;
    queue.priority = queues[q].spec.priority_level();
    if (q < cus.size()) queue.cus = cus[q];
    const std::vector<config::Node>& operations = queues[q].spec.operations.items;
    for (std::size_t i = 0; i < operations.size(); ++i) {
      const std::string path = fmt::format("program.queues.{}.{}", queue.name, i);
      append_operation(operations[i], {system, *made, queue, path, &traces, &built.recorded, &built.notes, untried},
                       *groups, built.exchanges, diagnostics);
    }
  }
  if (diagnostics.size() > before) return {};
  built.program = std::move(made);
  return built;
}

}  // namespace moire::operators
