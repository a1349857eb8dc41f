// Over 400 lines: reading, checking and combining the possible changes all work on the same set of queues.
#include "app/advise/space.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/workload/operators/program_spec.hpp"
#include "models/workload/operators/registry.hpp"
#include "sim/config/suggest.hpp"

namespace moire::advise {

namespace {

using builder::Knob;

config::Node scalar(const std::string& text, const config::Place& place) {
  config::Node node;
  node.kind = config::Node::Kind::scalar;
  node.text = text;
  node.place = place;
  return node;
}

config::Override change(const std::string& path, config::Node value) {
  config::Diagnostics none;
  return *config::make_override(path, value, none);
}

// One setting that schedules can change. Its first option leaves the setting as written.
struct Axis {
  std::string key;
  std::vector<study::Choice> options{study::Choice{}};
  std::string only_key{}, only_value{};  // the axis applies only if the key only_key has the value only_value
};

// Returns the value of a knob's key in an operator's YAML, or the knob's default.
std::string written(const config::Node& operation, const Knob& knob) {
  const config::Node* value = operation.find(knob.key);
  return value && value->is_scalar() ? value->text : knob.usual;
}

struct Queue {
  std::string name;
  const config::Node* node;
  const config::Node* operations;
  std::int64_t workgroups = 0;
  bool knobs = false;
};

class SpaceReader {
 public:
  SpaceReader(const study::Scenario& scenario, study::Preparer& preparer, config::Diagnostics& diagnostics)
      : scenario_(scenario), preparer_(preparer), diagnostics_(diagnostics) {}

  std::optional<Space> read() {
    if (!scenario_.axes.empty()) {
      diagnostics_.error(scenario_.tree.find("sweep")->place,
                         "'moire advise' needs a single point, but this scenario has a sweep",
                         "remove 'sweep' (--set sweep=null) and set the values");
      return std::nullopt;
    }
    const auto prepared = preparer_.prepare(with_schedules(scenario_, {}), {}, diagnostics_);
    if (!prepared) return std::nullopt;
    place_ = scenario_.tree.find("program")->place;
    if (!find_queues(*prepared) || !read_spec()) return std::nullopt;
    cus_ = prepared->system->node.gpu.compute.total_cus();
    step_ = prepared->system->node.gpu.compute.partition_step;
    add_axes();
    if (!diagnostics_.ok()) return std::nullopt;
    combine();
    return std::move(space_);
  }

 private:
  bool find_queues(const study::PreparedRun& prepared) {
    const config::Node& queues = *scenario_.tree.find("program")->find("queues");
    for (const auto& entry : queues.entries) {
      const config::Node& node = entry.value;
      queues_.push_back({entry.key, &node, node.is_map() ? node.find("operations") : &node});
    }
    if (queues_.size() > 2) {
      diagnostics_.error(
          queues.place,
          fmt::format("'moire advise' compares two queues that run at the same time, but there are {}", queues_.size()),
          "write the computation in one queue and the communication in another");
      return false;
    }
    for (std::size_t q = 0; q < queues_.size(); ++q) {
      for (const program::Operation& operation : prepared.program->queues[q].operations) {
        const auto* kernel = std::get_if<program::Kernel>(&operation);
        if (kernel) queues_[q].workgroups = std::max(queues_[q].workgroups, kernel->body->workgroups(0));
      }
      for (const config::Node& operation : queues_[q].operations->items) {
        if (!knobs_of(operation.entries.front().key).empty()) queues_[q].knobs = true;
      }
    }
    if (queues_.size() == 1) {
      if (!queues_[0].knobs) {
        diagnostics_.error(queues.place, "the only queue has no operator with a key that can be varied",
                           "write the computation in one queue and the communication in another, or use an operator "
                           "with a schedule, such as all_gather_gemm");
        return false;
      }
      space_.comm = queues_[0].name;
      space_.comm_workgroups = queues_[0].workgroups;
      return true;
    }
    // The communicating queue is the one whose operators have schedule keys (knobs). If both queues or none have such
    // keys, it is the queue with fewer workgroups.
    const bool first =
        queues_[0].knobs != queues_[1].knobs ? queues_[0].knobs : queues_[0].workgroups < queues_[1].workgroups;
    comm_ = first ? 0 : 1;
    space_.comm = queues_[comm_].name;
    space_.compute = queues_[1 - comm_].name;
    space_.comm_workgroups = queues_[comm_].workgroups;
    space_.compute_workgroups = queues_[1 - comm_].workgroups;
    return true;
  }

  static const std::vector<Knob>& knobs_of(const std::string& name) {
    static const std::vector<Knob> none;
    const builder::Operator* found = operators::find(name);
    return found ? found->knobs : none;
  }

  // A knob (a schedule key of an operator) that occurs in the queues, with all paths of the scenario that set it.
  struct Knobs {
    const Knob* knob;
    std::vector<std::string> paths;
    std::string written;
  };
  std::vector<Knobs> knobs() const {
    std::vector<Knobs> found;
    for (const Queue& queue : queues_) {
      for (std::size_t i = 0; i < queue.operations->items.size(); ++i) {
        const auto& operation = queue.operations->items[i].entries.front();
        for (const Knob& knob : knobs_of(operation.key)) {
          const auto same = [&](const Knobs& other) { return other.knob->key == knob.key; };
          auto at = std::find_if(found.begin(), found.end(), same);
          if (at == found.end()) at = found.insert(at, {&knob, {}, written(operation.value, knob)});
          at->paths.push_back(fmt::format("program.queues.{}.{}.{}.{}", queue.name, i, operation.key, knob.key));
        }
      }
    }
    return found;
  }

  bool read_spec() {
    const config::Node* node = scenario_.tree.find("advise");
    if (node == nullptr || node->is_null()) return true;
    if (!node->is_map()) {
      diagnostics_.error(node->place, "'advise' is " + found(*node) + ", not a map",
                         "write advise: {channels: [4, 8, 16]}");
      return false;
    }
    config::Node own = *node;
    own.entries.clear();
    const std::vector<std::string> known = config::description<AdviseSpec>().keys();
    std::vector<std::string> all = known;
    for (const Knobs& one : knobs()) all.push_back(one.knob->key);
    for (const auto& entry : node->entries) {
      if (std::find(known.begin(), known.end(), entry.key) != known.end()) {
        own.entries.push_back(entry);
      } else if (std::find(all.begin(), all.end(), entry.key) == all.end()) {
        diagnostics_.error(entry.key_place, "unknown key '" + entry.key + "' in advise",
                           config::suggestion(entry.key, all, "keys"));
      } else if (!entry.value.is_sequence()) {
        diagnostics_.error(entry.value.place,
                           fmt::format("'advise.{}' is {}, not a list", entry.key, found(entry.value)),
                           "write the values to try: [...]");
      } else {
        listed_.emplace_back(entry.key, &entry.value);
      }
    }
    const auto spec = config::parse<AdviseSpec>(own, diagnostics_, nullptr, "advise");
    if (!spec || !diagnostics_.ok()) return false;
    spec_ = *spec;
    for (const char* key : {"launch", "priority", "cu_partition", "cu_limit"}) {
      const config::Node* there = node->find(key);
      if (there == nullptr || queues_.size() == 2) continue;
      diagnostics_.error(there->place, fmt::format("'advise.{}' needs two queues, but there is one", key), "remove it");
    }
    return diagnostics_.ok();
  }

  std::string path(const Queue& queue, const std::string& key) const {
    return fmt::format("program.queues.{}.{}", queue.name, key);
  }

  void add_axes() {
    const config::Node& program = *scenario_.tree.find("program");
    for (const Knobs& one : knobs()) add_knob(one);
    if (queues_.size() < 2) return;
    const Queue& comm = queues_[comm_];
    const Queue& compute = queues_[1 - comm_];

    Axis launch{"launch"};
    const config::Node* order = program.find("launch");
    const std::string first =
        order && order->is_sequence() && !order->items.empty() ? order->items[0].text : queues_[0].name;
    for (const std::string& name : spec_.launch.value_or(std::vector<std::string>{comm.name, compute.name})) {
      if (name != comm.name && name != compute.name) {
        diagnostics_.error(scenario_.tree.find("advise")->find("launch")->place,
                           "'advise.launch' names no queue: " + config::in_quotes(name),
                           config::suggestion(name, {comm.name, compute.name}, "queues"));
      } else if (name != first) {
        config::Node list;
        list.kind = config::Node::Kind::sequence;
        list.place = place_;
        list.items = {scalar(name, place_), scalar(name == comm.name ? compute.name : comm.name, place_)};
        launch.options.push_back({name + " first", {change("program.launch", list)}});
      }
    }
    axes_.push_back(std::move(launch));
    written_.emplace_back("launch", first);

    add_attribute("priority", comm, "normal", spec_.priority.value_or(std::vector<std::string>{"normal", "high"}),
                  [](const std::string& value) { return "priority " + value; });
    std::vector<std::int64_t> reserved;
    for (std::int64_t cus = step_; cus <= cus_ / 2; cus *= 2) {
      if (cus >= 4) reserved.push_back(cus);
    }
    const std::vector<std::int64_t> partitions = spec_.cu_partition.value_or(reserved);
    for (const std::int64_t cus : partitions) {
      if (cus > 0) space_.splits.push_back(cus);
    }
    add_attribute("cu_partition", comm, "0", texts(partitions),
                  [](const std::string& value) { return value == "0" ? "no CUs reserved" : value + " CUs reserved"; });
    add_attribute("cu_limit", compute, "0", texts(spec_.cu_limit.value_or(std::vector<std::int64_t>{cus_ - step_})),
                  [&](const std::string& value) { return fmt::format("{} on {} CUs", compute.name, value); });
  }

  static std::vector<std::string> texts(const std::vector<std::int64_t>& values) {
    std::vector<std::string> out;
    for (const std::int64_t value : values) out.push_back(std::to_string(value));
    return out;
  }

  void add_attribute(const std::string& key, const Queue& queue, const std::string& usual,
                     const std::vector<std::string>& values,
                     const std::function<std::string(const std::string&)>& name) {
    Axis axis{key};
    const config::Node* is = queue.node->is_map() ? queue.node->find(key) : nullptr;
    const std::string as_written = is && is->is_scalar() ? is->text : usual;
    for (const std::string& value : values) {
      if (value == as_written) continue;
      axis.options.push_back({name(value), {change(path(queue, key), scalar(value, place_))}});
    }
    axes_.push_back(std::move(axis));
  }

  void add_knob(const Knobs& one) {
    Axis axis{one.knob->key};
    axis.only_key = one.knob->only_key;
    axis.only_value = one.knob->only_value;
    std::vector<std::string> values = one.knob->values;
    for (const auto& [key, list] : listed_) {
      if (key != one.knob->key) continue;
      values.clear();
      for (const config::Node& item : list->items) values.push_back(item.text);
    }
    for (const std::string& value : values) {
      if (value == one.written) continue;
      study::Choice option{fmt::format("{} {}", one.knob->key, value), {}};
      for (const std::string& target : one.paths) option.changes.push_back(change(target, scalar(value, place_)));
      axis.options.push_back(std::move(option));
    }
    axes_.push_back(std::move(axis));
    written_.emplace_back(one.knob->key, one.written);
  }

  // Returns the value of a key in a schedule: that of the picked option or, if none is picked, the value as written.
  std::string value_in(const std::vector<std::size_t>& pick, const std::string& key) const {
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      if (axes_[a].key != key || pick[a] == 0) continue;
      const config::Node& value = axes_[a].options[pick[a]].changes.front().value;
      return value.is_sequence() ? value.items.front().text : value.text;
    }
    for (const auto& [name, value] : written_) {
      if (name == key) return value;
    }
    return "";
  }

  bool picked(const std::vector<std::size_t>& pick, const std::string& key) const {
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      if (axes_[a].key == key) return pick[a] > 0;
    }
    return false;
  }

  // False for a schedule that is not tried. Most such schedules cannot differ from a simpler one: they set a key that
  // has no effect with their other values, or they set launch order, priority or cu_limit although the communicating
  // queue has CUs of its own. Without `combine`, schedules with several changes are not tried either.
  bool makes_sense(const std::vector<std::size_t>& pick) const {
    std::size_t changes = 0;
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      if (pick[a] == 0) continue;
      ++changes;
      if (!axes_[a].only_key.empty() && value_in(pick, axes_[a].only_key) != axes_[a].only_value) return false;
    }
    if (!spec_.combine && changes > 1) return false;
    if (queues_.size() < 2) return true;
    const bool apart = picked(pick, "cu_partition");
    if (apart && (picked(pick, "launch") || picked(pick, "priority") || picked(pick, "cu_limit"))) return false;
    // The communicating queue needs no priority if it is launched first and has only one operation.
    return !(queues_[comm_].operations->items.size() == 1 && value_in(pick, "launch") == queues_[comm_].name &&
             picked(pick, "priority"));
  }

  void combine() {
    std::vector<std::size_t> pick(axes_.size(), 0);
    const study::Scenario bare = with_schedules(scenario_, {});
    while (true) {
      if (makes_sense(pick)) consider(bare, pick);
      std::size_t a = axes_.size();
      while (a > 0 && ++pick[a - 1] == axes_[a - 1].options.size()) pick[--a] = 0;
      if (a == 0) return;
    }
  }

  // Notes why a schedule is impossible. Each reason is kept once, with the first schedule that it excludes.
  void leave_out(const std::string& name, const std::string& reason) {
    const auto known = [&](const std::string& told) { return told.ends_with(": " + reason); };
    if (std::none_of(space_.left_out.begin(), space_.left_out.end(), known)) {
      space_.left_out.push_back(name + ": " + reason);
    }
  }

  void consider(const study::Scenario& bare, const std::vector<std::size_t>& pick) {
    study::Choice schedule;
    std::vector<std::string> names;
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      if (pick[a] == 0) continue;
      const study::Choice& option = axes_[a].options[pick[a]];
      names.push_back(option.name);
      schedule.changes.insert(schedule.changes.end(), option.changes.begin(), option.changes.end());
    }
    schedule.name = names.empty() ? "as written" : config::join(names);
    config::Diagnostics own;
    study::Run run;
    run.choices = {&schedule};
    auto prepared = preparer_.prepare(bare, run, own);
    if (!prepared) {
      leave_out(schedule.name, own.sorted().front().what);
      return;
    }
    const std::vector<program::Operation>& operations = prepared->program->queues[comm_].operations;
    const bool on_cus = std::any_of(operations.begin(), operations.end(), [](const program::Operation& operation) {
      return std::holds_alternative<program::Kernel>(operation);
    });
    if (!on_cus && (picked(pick, "priority") || picked(pick, "cu_partition"))) return;
    if (on_cus && picked(pick, "cu_limit") && !spec_.cu_limit) return;
    space_.schedules.push_back(std::move(schedule));
    space_.prepared.push_back(std::move(prepared));
  }

  const study::Scenario& scenario_;
  study::Preparer& preparer_;
  config::Diagnostics& diagnostics_;
  config::Place place_;
  AdviseSpec spec_;
  std::vector<std::pair<std::string, const config::Node*>> listed_;  // values of operators' keys to try
  std::vector<Queue> queues_;
  std::size_t comm_ = 0;
  std::int64_t cus_ = 0;
  std::int64_t step_ = 1;
  std::vector<Axis> axes_;
  std::vector<std::pair<std::string, std::string>> written_;  // values of `launch` and of operators' keys in the file
  Space space_;
};

}  // namespace

void AdviseSpec::describe(config::Describer<AdviseSpec>& d) {
  d.component("advise",
              "What `moire advise` may change in a scenario of two queues, or of one queue whose operators have "
              "schedule keys. Besides the keys below, which need two queues, it accepts the schedule keys of the "
              "operators in use (engine, channels, mover, chunks), each with a list of values to try. A missing key "
              "has its default values; a key with an empty list stays as written.");
  d.field("launch", &AdviseSpec::launch, "Queues that may be launched first; absent: both")
      .example("[comm, compute]")
      .optional();
  d.field("priority", &AdviseSpec::priority, "Priorities of the communicating queue; absent: normal and high")
      .example("[normal, high]")
      .optional();
  d.field("cu_partition", &AdviseSpec::cu_partition,
          "Numbers of CUs reserved for the communicating queue; absent: compute.partition_step, twice as many, four "
          "times as many, ..., from 4 to half of the CUs")
      .range(0, 4096)
      .example("[8, 16, 32]")
      .optional();
  d.field("cu_limit", &AdviseSpec::cu_limit,
          "Numbers of CUs to which the other queue is limited; absent: all CUs but compute.partition_step, if the "
          "communicating queue uses no CUs")
      .range(0, 4096)
      .example("[124]")
      .optional();
  d.field("combine", &AdviseSpec::combine, "true: schedules with several changes are tried, too").or_default();
}

std::optional<Space> space_of(const study::Scenario& scenario, study::Preparer& preparer,
                              config::Diagnostics& diagnostics) {
  return SpaceReader(scenario, preparer, diagnostics).read();
}

study::Scenario with_schedules(const study::Scenario& scenario, std::vector<study::Choice> schedules) {
  study::Scenario made = scenario;
  made.variants = std::move(schedules);
  made.axes.clear();
  made.sets.clear();  // the tree already contains these changes
  made.compare_to.reset();
  made.summary.clear();
  made.ideal = study::Ideal::none;
  made.blame = false;
  return made;
}

study::Choice reservation(const std::string& queue, std::int64_t cus, const config::Place& place) {
  const std::string path = fmt::format("program.queues.{}.cu_partition", queue);
  return {fmt::format("{} CUs reserved", cus), {change(path, scalar(std::to_string(cus), place))}};
}

}  // namespace moire::advise
