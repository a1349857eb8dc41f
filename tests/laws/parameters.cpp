#include "tests/laws/parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "models/workload/operators/registry.hpp"
#include "sim/config/reading.hpp"

namespace moire::laws {

namespace {

using config::Shape;

constexpr Direction directions[] = {
    {"system.nodes", Better::neither, "changes the program"},
    {"node.gpus", Better::neither, "changes the program"},
    {"node.nics", Better::neither, "changes who shares a NIC with whom, and a library's rings"},

    {"cu_group.cus", Better::more},  // the change repeats all groups and multiplies the arithmetic rates
    {"cu_group.count", Better::neither, "the change of cu_group.cus adds groups already"},
    {"cu_group.filled_first", Better::neither, "an order, not a capacity"},
    {"cu_array.wavefront", Better::neither, "a unit, not a capacity"},
    {"cu_array.threads_per_cu", Better::more},
    {"cu_array.workgroups_per_cu", Better::more},
    {"cu_array.registers_per_cu", Better::more},
    {"cu_array.register_granularity", Better::neither, "a unit, not a capacity"},
    {"cu_array.lds_per_cu", Better::more},
    {"cu_array.cluster_max", Better::neither, "larger clusters, which a library may then request, get other places"},
    {"cu_array.partition_step", Better::neither, "the step in which CUs may be reserved, not a capacity"},
    {"cu_array.clock", Better::more},
    {"cu_array.vector_fp32", Better::more},
    {"cu_array.matrix_16bit", Better::more},
    {"cu_array.matrix_efficiency", Better::more},
    {"cu_array.matrix_clock", Better::more},
    {"cu_array.traffic_weight", Better::less},
    {"cu_array.clock_beside_matrix", Better::more},
    {"cu_array.clock_dip", Better::less},
    {"cu_array.clock_dip_delay", Better::neither, "moves the dip to another moment, in which a kernel may do more"},
    {"cu_array.clock_dip_time", Better::less},
    {"cu_array.younger_matrix_share", Better::neither,
     "determines how a CU's workgroups share its rate, not a capacity"},
    {"cu_array.progress_window", Better::less},
    {"cu_array.progress_spread", Better::neither,
     "determines which tables of an embedding are stored at the same time, not a capacity"},
    {"cu_array.issue_per_clock", Better::more},
    {"cu_array.integer_per_clock", Better::more},
    {"cu_array.issue_interval", Better::less},
    {"cu_array.bytes_in_flight_per_cu", Better::more},
    {"cu_array.ports", Better::neither, "an order, not a capacity"},
    {"cu_array.port_queue", Better::more},
    {"cu_array.load_per_group", Better::more},
    {"cu_array.load_store_per_cu", Better::more},
    {"cu_array.load_per_wavefront", Better::more},
    {"cu_array.load_path", Better::less},
    {"cu_array.clocks_per_row", Better::less},
    {"cu_array.store_cost", Better::less},
    {"cu_array.peer_store_cost", Better::less},
    {"cu_array.launch_interval", Better::less},
    {"cu_array.slot_refill", Better::less},
    {"cu_array.refill_interval", Better::less},

    {"hbm.capacity", Better::more},
    {"hbm.peak", Better::more},
    {"hbm.bandwidth", Better::more},
    {"hbm.write_cost", Better::less},
    {"hbm.turnaround", Better::less},
    {"hbm.turnaround_exponent", Better::more},  // a number below 1 is raised to this power
    {"hbm.turnaround_in_order", Better::less},
    {"hbm.turnaround_in_strides", Better::less},
    {"hbm.turnaround_gathers", Better::less},
    {"hbm.access_granularity", Better::less},  // only by integer factors, so that rows stay multiples of it
    {"hbm.random_access_cost", Better::less},
    {"hbm.unloaded_latency", Better::less},
    {"hbm.latency_spread", Better::less},
    {"hbm.random_access_rate", Better::more},
    {"hbm.latency_growth", Better::less},
    {"hbm.latency_exponent", Better::more},  // a load below 1 is raised to this power

    {"cache.capacity", Better::more},
    {"cache.partitions", Better::less},
    {"cache.evict_first_share", Better::more},
    {"cache.store_displaces", Better::less},
    {"cache.dirty_least", Better::neither, "stored lines that stay need not be written, but leave a GEMM less room"},
    {"cache.dirty_most", Better::more},
    {"cache.bandwidth", Better::more},
    {"cache.add_cost", Better::less},
    {"cache.bulk_add_cost", Better::less},
    {"cache.slices", Better::neither,
     "with more slices the busiest one has fewer popular rows, but more additions relative to the mean"},
    {"cache.slice_bandwidth", Better::more},
    {"cache.slice_bandwidth_apart", Better::more},
    {"cache.slice_run", Better::less},
    {"cache.slice_block", Better::neither, "rows of a long block lie in fewer slices, but disturb each other less"},
    {"cache.lone_read_cost", Better::less},
    {"cache.readers_together", Better::less},
    {"cache.merge_window", Better::more},
    {"cache.hit_latency", Better::less},
    {"cache.line", Better::neither, "long lines help neighbouring accesses, but cost time if rows are read at random"},

    {"decompressor.engines", Better::more},
    {"decompressor.bandwidth", Better::more},
    {"decompressor.largest", Better::neither,
     "the largest buffer that it accepts, which also determines the number of chunks"},
    {"decompressor.command", Better::less},
    {"decompressor.bytes_in_flight", Better::neither, "a weight against other traffic, not a capacity"},

    {"dma.engines", Better::more},
    {"dma.peer_concurrency", Better::neither,
     "concurrent copies all arrive late; if they run one after the other, most arrive sooner"},
    {"dma.bandwidth", Better::more},
    {"dma.first_command", Better::less},
    {"dma.next_command", Better::less},
    {"dma.switch_command", Better::less},
    {"dma.flag_command", Better::less},
    {"dma.completion", Better::less},
    {"dma.local_completion", Better::less},
    {"dma.local_command", Better::less},
    {"dma.queued_enqueue", Better::less},
    {"dma.bytes_in_flight", Better::neither, "a weight against other traffic, not a capacity"},

    {"node.links_per_pair", Better::more},
    {"scale_up_port.links", Better::more},
    {"scale_up_port.link_bandwidth", Better::more},
    {"scale_up_port.payload_efficiency", Better::more},
    {"scale_up_port.copy_efficiency", Better::more},
    {"scale_up_port.add_efficiency", Better::more},
    {"scale_up_port.multicast_efficiency", Better::more},
    {"scale_up_port.load_latency", Better::less},
    {"scale_up_port.stripe", Better::neither, "decides which rows meet one group of links"},
    {"scale_up_port.stripe_ways", Better::neither, "decides which rows meet one group of links"},
    {"scale_up_port.stripe_cost", Better::less},
    {"scale_up_port.packet", Better::neither, "a unit: rows may need fewer packets or shorter ones"},
    {"scale_up_port.header", Better::less},
    {"scale_up_port.store_latency", Better::less},
    {"scale_up_port.store_window_per_cu", Better::more},
    {"scale_up_port.store_return", Better::less},
    {"scale_up_port.fence", Better::less},
    {"scale_up_port.first_fence", Better::less},
    {"scale_up_port.fence_beside_loads", Better::less},
    {"scale_up_port.fence_behind_stores", Better::less},
    {"scale_up_port.kernel_end", Better::less},

    {"host.enqueue", Better::less},
    {"host.copy_enqueue", Better::less},
    {"host.query", Better::less},
    {"host.busy_query", Better::less},
    {"host.copy_seen", Better::less},
    {"host.kernel_start", Better::less},
    {"host.queue_gap", Better::less},
    {"host.poll_interval", Better::less},
    {"host.event_pair", Better::neither, "part of the time between two events, not of the time of the run"},
    {"host.event_pair_alone", Better::neither, "part of the time between two events, not of the time of the run"},

    {"host_memory.slot_out", Better::more},
    {"host_memory.slot_in", Better::more},
    {"host_memory.slot", Better::more},
    {"host_memory.cache", Better::more},
    {"host_memory.write", Better::more},
    {"host_memory.read", Better::more},
    {"host_memory.bandwidth", Better::more},
    {"host_memory.read_share", Better::neither, "a weight against copies in the other direction, not a capacity"},
    {"host_memory.switch_command", Better::less},
    {"host_memory.busy_command", Better::less},
    {"host_memory.calls", Better::neither, "also determines the moments of polls"},
    {"host_memory.poll_interval", Better::less},  // only by integer factors, so that no poll comes later
    {"host_memory.hand_over", Better::less},

    {"nic.bandwidth", Better::more},
    {"nic.payload_efficiency", Better::more},
    {"nic.latency", Better::less},
    {"nic.message_rate", Better::more},
    {"nic.queue_pair_message_rate", Better::more},
    {"nic.queue_pairs", Better::neither, "messages of several queue pairs take turns, so that each message ends later"},
    {"nic.wqe_build", Better::less},
    {"nic.doorbell", Better::less},
    {"nic.pcie_bandwidth", Better::more},
    {"nic.pcie_latency", Better::less},
    {"nic.flag_latency", Better::less},
    {"nic.proxy_latency", Better::less},
    {"nic.proxy_time", Better::less},

    {"direct.link_latency", Better::less},
    {"star.link_latency", Better::less},
    {"star.switch_latency", Better::less},
    {"reduction.rate", Better::more},
    {"reduction.latency", Better::less},
    {"fat_tree.nodes_per_leaf", Better::neither, "another wiring"},
    {"fat_tree.spines", Better::neither, "divides the same uplinks into other pieces"},
    {"fat_tree.planes", Better::neither, "divides a port into pieces, of which a queue pair uses one"},
    {"fat_tree.oversubscription", Better::less},
    {"fat_tree.link_latency", Better::less},
    {"fat_tree.switch_latency", Better::less},
    {"fat_tree.seed", Better::neither, "selects other paths"},
    {"rail_fat_tree.nodes_per_leaf", Better::neither, "another wiring"},
    {"rail_fat_tree.spines", Better::neither, "divides the same uplinks into other pieces"},
    {"rail_fat_tree.planes", Better::neither, "divides a port into pieces, of which a queue pair uses one"},
    {"rail_fat_tree.oversubscription", Better::less},
    {"rail_fat_tree.link_latency", Better::less},
    {"rail_fat_tree.switch_latency", Better::less},
    {"rail_fat_tree.seed", Better::neither, "selects other paths"},
    {"torus.dimensions", Better::neither, "another wiring"},
    {"torus_link.bandwidth", Better::more},
    {"torus_link.latency", Better::less},
    {"dragonfly.groups", Better::neither, "another wiring"},
    {"dragonfly.routers_per_group", Better::neither, "another wiring"},
    {"dragonfly.nodes_per_router", Better::neither, "another wiring"},
    {"dragonfly.spines_per_group", Better::neither, "another wiring"},
    {"dragonfly.global_links", Better::neither,
     "queue pairs choose among more links, and may meet on a link although they did not before"},
    {"dragonfly.link_latency", Better::less},
    {"dragonfly.switch_latency", Better::less},
    {"dragonfly.seed", Better::neither, "selects other paths"},
    {"dragonfly_link.bandwidth", Better::more},
    {"dragonfly_link.latency", Better::less},
    {"spread.matrix_clock", Better::neither, "how far GPUs differ; the run itself does not use it"},
    {"spread.memory", Better::neither, "how far GPUs differ; the run itself does not use it"},
    {"spread.links", Better::neither, "how far GPUs differ; the run itself does not use it"},

    {"power.idle", Better::neither, "the clock of a burst does not depend on it (law operated)"},
    {"power.cap", Better::neither, "the clock of a burst does not depend on it (law operated)"},
    {"power.held", Better::neither, "the clock of a burst does not depend on it (law operated)"},
    {"power.busy_cu", Better::neither, "the clock of a burst does not depend on it (law operated)"},
    {"power.matrix_flop", Better::neither, "matrix_clock contains it, and traffic counts relative to it"},
    {"power.matrix_quiet", Better::neither, "the clock of a burst does not depend on it (law operated)"},
    {"power.vector_flop", Better::neither, "the clock of a burst does not depend on it (law operated)"},
    {"power.l2_byte", Better::less},
    {"power.hbm_read_byte", Better::less},
    {"power.hbm_write_byte", Better::neither, "the clock of a burst does not depend on it (law operated)"},
    {"power.link_byte", Better::less},
    {"power.voltage_slope", Better::neither, "matrix_clock contains it, and traffic counts relative to it"},
    {"power.matrix_load", Better::neither, "the clock of a burst does not depend on it (law operated)"},
    {"power.lowest_clock", Better::neither, "the clock of a burst does not depend on it (law operated)"},
    {"network.chunk", Better::neither, "the resolution of the model"},
};

bool is_number(const Shape& shape) {
  return shape.form == Shape::Form::quantity || shape.form == Shape::Form::integer || shape.form == Shape::Form::number;
}

const config::Description* spec_of(const Shape& shape) {
  if (shape.form != Shape::Form::spec) return nullptr;
  if (shape.spec != nullptr) return &shape.spec();
  static const config::Catalogue catalogue = [] {
    config::Catalogue made;
    operators::describe(made);
    return made;
  }();
  return catalogue.find(shape.elsewhere);
}

// Returns the value of a node, which is either a plain value or a map of value and source.
const config::Node& value_of(const config::Node& node) {
  const config::Node* value = config::is_sourced_form(node) ? node.find("value") : nullptr;
  return value ? *value : node;
}

struct Walk {
  std::vector<Parameter>& found;

  void value(const config::Node& written, const Shape& shape, const config::Field& field, const std::string& name,
             const std::string& own_path) {
    const config::Node& node = value_of(written);
    // --set replaces a number together with its source. In a list with a source it replaces single items of `value`.
    const bool within = &node != &written && !node.is_scalar();
    const std::string path = within ? own_path + ".value" : own_path;
    if (const config::Description* spec = spec_of(shape)) {
      if (node.is_map() || node.is_scalar()) map(node, *spec, path);  // a scalar: defaults
    } else if (shape.form == Shape::Form::list || shape.form == Shape::Form::map) {
      for (std::size_t i = 0; i < node.items.size(); ++i)
        value(node.items[i], shape.element.front(), field, name, fmt::format("{}.{}", path, i));
      for (const config::Node::Entry& entry : node.entries)
        value(entry.value, shape.element.front(), field, name, path + "." + entry.key);
    } else if (is_number(shape) && node.is_scalar()) {
      Parameter parameter{path, name, &field, 0, shape.form == Shape::Form::integer, shape.dimension};
      if (!config::parse_quantity(node.text, shape.dimension, parameter.value)) found.push_back(std::move(parameter));
    }
  }

  void map(const config::Node& node, const config::Description& spec, const std::string& path) {
    if (spec.name == "power") return;  // does not affect the time of a burst run
    for (const config::Field& field : spec.fields) {
      const config::Node* entry = node.find(field.key);
      const std::string name = spec.name + "." + field.key, at = path + "." + field.key;
      if (entry != nullptr) {
        value(*entry, field.type.shape, field, name, at);
      } else if (field.has_default) {
        config::Node usual;
        usual.kind = config::Node::Kind::scalar;
        usual.text = field.default_text;
        value(usual, field.type.shape, field, name, at);
      }
    }
  }
};

// Adds the names of all numbers of hardware specs, without those of libraries.
void names_of(const config::Description& spec, std::set<std::string>& names) {
  for (const config::Field& field : spec.fields) {
    const Shape& shape = field.type.shape.innermost();
    if (shape.form == Shape::Form::spec && shape.spec != nullptr) names_of(shape.spec(), names);
    if (is_number(shape)) names.insert(spec.name + "." + field.key);
  }
}

const Parameter* find(const std::vector<Parameter>& all, const std::string& name) {
  const auto at = std::find_if(all.begin(), all.end(), [&](const Parameter& one) { return one.name == name; });
  return at == all.end() ? nullptr : &*at;
}

// Returns the CU groups as YAML: the items of a list, without its brackets.
std::string groups_of(const std::vector<Parameter>& all) {
  std::string text;
  for (const Parameter& one : all) {
    if (one.name.find("cu_group.") != 0) continue;
    const std::string key = one.name.substr(one.name.find('.') + 1);
    text += (key == "cus" ? (text.empty() ? "{" : "}, {") : ", ") + key + ": " + one.text(one.value);
  }
  return text + "}";
}

std::string ports_of(const std::vector<Parameter>& all) {
  std::string text;
  for (const Parameter& one : all)
    if (one.name == "cu_array.ports") text += (text.empty() ? "" : ", ") + one.text(one.value);
  return text;
}

std::string repeated(const std::string& text, std::int64_t times) {
  std::string list = text;
  for (std::int64_t i = 1; i < times; ++i) list += ", " + text;
  return "[" + list + "]";
}

}  // namespace

std::string Parameter::text(double number) const {
  if (whole) return fmt::format("{}", static_cast<std::int64_t>(std::llround(number)));
  switch (dimension) {
    case config::Dimension::time:
      return fmt::format("{} ps", static_cast<std::int64_t>(std::llround(number)));
    case config::Dimension::bytes:
      return fmt::format("{} B", field->fractional ? number : std::round(number));
    case config::Dimension::bytes_per_second:
      return fmt::format("{} B/s", number);
    case config::Dimension::flop:
      return fmt::format("{} FLOP", number);
    case config::Dimension::flop_per_second:
      return fmt::format("{} FLOP/s", number);
    case config::Dimension::per_second:
      return fmt::format("{} /s", number);
    case config::Dimension::power:
      return fmt::format("{} W", number);
    case config::Dimension::energy:
      return fmt::format("{} J", number);
    case config::Dimension::ratio:
      break;
  }
  return fmt::format("{}", number);
}

std::vector<Parameter> parameters_of(const config::Node& tree, const config::Description& spec,
                                     const std::string& path) {
  std::vector<Parameter> found;
  Walk{found}.map(tree, spec, path);
  return found;
}

bool is_rate(const Parameter& one) {
  return one.dimension == config::Dimension::bytes_per_second || one.dimension == config::Dimension::flop_per_second ||
         one.dimension == config::Dimension::per_second;
}

const Direction* direction_of(const std::string& name) {
  const auto at = std::find_if(std::begin(directions), std::end(directions),
                               [&](const Direction& one) { return name == one.name; });
  return at == std::end(directions) ? nullptr : at;
}

std::vector<std::string> undeclared() {
  std::set<std::string> names;
  names_of(config::description<machine::SystemSpec>(), names);
  std::vector<std::string> wrong;
  for (const std::string& name : names) {
    if (direction_of(name) == nullptr)
      wrong.push_back(fmt::format("{} has no direction in tests/laws/parameters.cpp: is more of it better?", name));
  }
  for (const Direction& direction : directions) {
    if (names.count(direction.name) == 0)
      wrong.push_back(fmt::format("tests/laws/parameters.cpp knows {}, which no spec has", direction.name));
  }
  return wrong;
}

std::optional<std::vector<Change>> made_better(const std::vector<Parameter>& all, const Parameter& one, double factor) {
  const Direction* direction = direction_of(one.name);
  if (direction == nullptr || direction->better == Better::neither) return std::nullopt;
  const double better = direction->better == Better::more ? one.value * factor : one.value / factor;
  const config::Limits& limits = one.field->limits;
  // A value at its limit, such as a time of 0, cannot get better.
  double value = std::clamp(better, limits.low, limits.high);
  if (one.whole) value = std::round(value);
  if (value == one.value) return std::nullopt;
  std::vector<Change> changes{{one.path, one.text(value)}};
  const auto along = [&](const char* name) {
    if (const Parameter* other = find(all, name)) changes.push_back({other->path, other->text(other->value * factor)});
  };
  if (one.name == "hbm.bandwidth") along("hbm.peak");
  if (one.name == "hbm.access_granularity" && std::fmod(one.value, value) != 0) return std::nullopt;
  if (one.name == "cu_group.cus") {
    const auto times = static_cast<std::int64_t>(factor);
    if (static_cast<double>(times) != factor || one.path.find(".groups.0.") == std::string::npos) return std::nullopt;
    changes = {{"system.node.gpu.compute.groups", repeated(groups_of(all), times)}};
    const std::string ports = ports_of(all);
    if (!ports.empty()) changes.push_back({"system.node.gpu.compute.ports", repeated(ports, times)});
    along("cu_array.vector_fp32");
    along("cu_array.matrix_16bit");
  }
  return changes;
}

}  // namespace moire::laws
