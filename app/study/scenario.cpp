#include "app/study/scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "sim/config/suggest.hpp"

namespace moire::study {

namespace {

constexpr std::size_t most_runs = 10'000;  // a mistake in an axis must not occupy the machine for days

// Returns the label of the value with this index on an axis: "128" for a scalar, "h200x4" for a file, "value 2" for a
// list or a map.
std::string label_of(const config::Node& value, std::size_t index) {
  if (value.is_scalar()) return value.text;
  if (value.top && value.place.source) return std::filesystem::path(value.place.source->name).stem().string();
  return fmt::format("value {}", index + 1);
}

class ScenarioReader {
 public:
  ScenarioReader(Scenario& scenario, config::Diagnostics& diagnostics)
      : scenario_(scenario), diagnostics_(diagnostics) {}

  void variants(const config::Node& node) {
    if (none(node)) return;
    if (!node.is_map()) {
      reject(node, "'variants' is " + found(node) + ", not a map of names",
             "write variants: {base: {}, other: {path: value}}");
      return;
    }
    for (const auto& entry : node.entries)
      if (!removed(entry, node)) scenario_.variants.push_back(choice(entry, "variant"));
  }

  void sweep(const config::Node& node) {
    if (none(node)) return;
    if (!node.is_map()) {
      reject(node, "'sweep' is " + found(node) + ", not a map of axes", "write sweep: {system.nodes: [2, 4]}");
      return;
    }
    for (const auto& entry : node.entries) axis(entry);
    double runs = static_cast<double>(std::max<std::size_t>(1, scenario_.variants.size()));
    for (const Axis& one : scenario_.axes) runs *= static_cast<double>(one.points.size());
    if (runs > most_runs) {
      reject(node, fmt::format("the axes and variants make {:.0f} runs", runs),
             fmt::format("at most {} can be run", most_runs));
      scenario_.axes.clear();
    }
  }

  void compare(const CompareSpec& spec, const config::Node& node) {
    if (none(node)) return;
    scenario_.unperturbed = spec.unperturbed;
    if (spec.spread) scenario_.spread = node.find("spread")->place;
    if (!spec.to && !spec.ideal && !spec.blame && !spec.unperturbed && !spec.spread) {
      reject(node, "'compare' does not state what to compare with",
             "write to: <variant>, ideal: overlap, unperturbed: true, or spread: true");
      return;
    }
    scenario_.ideal = spec.ideal;
    scenario_.blame = spec.blame.value_or(spec.ideal == Ideal::overlap);
    const config::Node* ideal = node.find("ideal");
    scenario_.ideal_place = ideal ? ideal->place : node.place;
    const config::Node* blame = node.find("blame");
    if (spec.ideal == Ideal::none && spec.blame == true) {
      reject(*blame, "'compare.blame' needs an ideal", "remove 'ideal: none'");
    }
    if (!spec.to) {
      for (const char* key : {"summary", "compute_only"})
        if (const config::Node* there = node.find(key))
          reject(*there, fmt::format("'compare.{}' needs the variant to compare with, but 'to' is missing", key),
                 "name a variant");
      return;
    }
    scenario_.compare_to = variant(spec.to, *node.find("to"), "to");
    if (scenario_.compare_to) scenario_.summary = spec.summary;
    if (!spec.compute_only) return;
    const config::Node& compute = *node.find("compute_only");
    scenario_.compute_only = variant(spec.compute_only, compute, "compute_only");
    if (scenario_.compare_to && scenario_.compute_only == scenario_.compare_to)
      reject(compute, "'compare.compute_only' names the reference variant itself",
             "name the variant that computes and does not communicate");
  }

 private:
  // True for `--set variants.NAME=null`, which removes the variant.
  bool removed(const config::Node::Entry& entry, const config::Node& variants) {
    if (!entry.value.is_null() || !entry.value.override_text) return false;
    if (entry.key_place.source != entry.value.place.source) return true;
    std::vector<std::string> names = variants.keys();  // --set has added the key that it is to remove
    std::erase(names, entry.key);
    reject(entry.value, "there is no variant " + config::in_quotes(entry.key) + " to remove",
           config::suggestion(entry.key, names, "variants"));
    return true;
  }

  // Returns the index of the variant that the key `key` of `compare` names. If there is none, reports an error.
  std::optional<std::size_t> variant(const std::optional<std::string>& name, const config::Node& at, const char* key) {
    std::vector<std::string> names;
    for (const Choice& variant : scenario_.variants) names.push_back(variant.name);
    const auto known = std::find(names.begin(), names.end(), *name);
    if (known != names.end()) return static_cast<std::size_t>(known - names.begin());
    if (names.empty()) {
      reject(at, "'compare' needs variants to compare", "write variants: {" + *name + ": {}, other: {path: value}}");
    } else {
      reject(at, fmt::format("'compare.{}' does not name a variant: {}", key, config::in_quotes(*name)),
             config::suggestion(*name, names, "variants"));
    }
    return std::nullopt;
  }

  // True for an empty value or {}, which count as an absent key.
  static bool none(const config::Node& node) {
    return node.is_null() || (node.is_map() && node.entries.empty() && !node.broken);
  }

  void reject(const config::Node& at, std::string what, std::string remedy) {
    if (!at.broken) diagnostics_.error(at.place, std::move(what), std::move(remedy));
  }

  void axis(const config::Node::Entry& entry) {
    Axis made{entry.key, {}};
    const config::Node& values = entry.value;
    if (values.is_map() && !values.top) {
      for (const auto& point : values.entries) made.points.push_back(choice(point, "point"));
    } else if (values.is_sequence()) {
      for (std::size_t i = 0; i < values.items.size(); ++i) {
        const config::Node& value = values.items[i];
        Choice point{label_of(value, i), {}};
        const auto same = [&point](const Choice& other) { return other.name == point.name; };
        if (std::any_of(made.points.begin(), made.points.end(), same)) {
          reject(value, fmt::format("axis '{}' has {} twice", entry.key, config::in_quotes(point.name)),
                 "keep one of them");
        }
        change(entry.key, value, point);
        made.points.push_back(std::move(point));
      }
    } else {
      reject(values, fmt::format("axis '{}' is {}", entry.key, found(values)),
             "write a list of values, or a map of named points, each {path: value}");
      return;
    }
    if (made.points.empty()) {
      reject(values, fmt::format("axis '{}' has no points", entry.key), "name at least one value");
      return;
    }
    scenario_.axes.push_back(std::move(made));
  }

  Choice choice(const config::Node::Entry& entry, std::string_view kind) {
    Choice made{entry.key, {}};
    if (entry.value.is_map()) {
      for (const auto& setting : entry.value.entries) change(setting.key, setting.value, made);
    } else if (!entry.value.is_null()) {
      reject(entry.value, fmt::format("{} '{}' is {}, not a map", kind, entry.key, found(entry.value)),
             "write {path: value}, or {} for no change");
    }
    return made;
  }

  void change(const std::string& path, const config::Node& value, Choice& into) {
    auto made = config::make_override(path, value, diagnostics_);
    if (!made) return;
    if (!varies_runs(*made)) {
      reject(value, fmt::format("'{}' cannot be varied", path),
             "a path starts with 'system.', 'program.' or 'perturb.', or is 'operating_point'");
      return;
    }
    into.changes.push_back(std::move(*made));
  }

  Scenario& scenario_;
  config::Diagnostics& diagnostics_;
};

using Path = std::vector<std::string>;

// Returns a path without the key "operations" of a queue. A queue written as a map has this key and a queue written as
// a list does not, so that paths of both can be compared.
Path plain(Path path) {
  const bool in_queue = path.size() > 3 && path[0] == "program" && path[1] == "queues";
  if (in_queue && path[3] == "operations") path.erase(path.begin() + 3);
  return path;
}

bool starts_with(const Path& path, const Path& start) {
  return path.size() >= start.size() && std::equal(start.begin(), start.end(), path.begin());
}

// True if the value has a node at the path from `rest` to `end`. If the value is the name of a file, the contents of
// the file do not count.
bool writes(const config::Node& value, Path::const_iterator rest, Path::const_iterator end) {
  if (rest == end) return true;
  if (value.top) return false;
  if (value.is_sequence()) {
    const auto same = [&](std::size_t i) { return std::to_string(i) == *rest; };
    for (std::size_t i = 0; i < value.items.size(); ++i)
      if (same(i)) return writes(value.items[i], rest + 1, end);
    return false;
  }
  const config::Node* below = value.find(*rest);
  return below != nullptr && writes(*below, rest + 1, end);
}

// Reports changes that override a value of an axis or of --set. Rows of the results are labelled with these values.
class OverwriteCheck {
 public:
  OverwriteCheck(const Scenario& scenario, config::Diagnostics& diagnostics)
      : scenario_(scenario), diagnostics_(diagnostics) {}

  void check() {
    for (const config::Override& set : scenario_.sets) {
      if (varies_runs(set)) earlier_.push_back({&set, Kind::set, config::in_quotes(set.text)});
    }
    for (const Axis& axis : scenario_.axes) {
      const std::size_t before = earlier_.size();
      for (const Choice& point : axis.points) {
        judge(point, "axis " + config::in_quotes(axis.name), before);
        for (const config::Override& change : point.changes)
          earlier_.push_back({&change, Kind::axis, "axis " + config::in_quotes(axis.name)});
      }
    }
    for (const Choice& variant : scenario_.variants)
      judge(variant, "variant " + config::in_quotes(variant.name), earlier_.size());
  }

 private:
  enum class Kind { set, axis, same };
  struct Earlier {
    const config::Override* change;
    Kind kind;
    std::string name;
  };

  // Checks the changes of `choice` against each other and against the first `before` changes of `earlier_`. All of
  // these apply before `choice`.
  void judge(const Choice& choice, const std::string& name, std::size_t before) {
    for (std::size_t c = 0; c < choice.changes.size(); ++c) {
      const config::Override& change = choice.changes[c];
      for (std::size_t e = 0; e < before; ++e) judge(earlier_[e], change, name);
      for (std::size_t own = 0; own < c; ++own)
        judge({&choice.changes[own], Kind::same, "an earlier change of the same key"}, change, name);
    }
  }

  void judge(const Earlier& earlier, const config::Override& later, const std::string& name) {
    const Path from = plain(earlier.change->path);
    const Path to = plain(later.path);
    const bool above = starts_with(from, to);
    if (above && to.size() < from.size() && earlier.kind == Kind::set) return;  // --set is applied again
    if (!above) {
      if (!starts_with(to, from)) return;
      if (!writes(earlier.change->value, to.begin() + static_cast<std::ptrdiff_t>(from.size()), to.end())) return;
    }
    const std::string path = config::in_quotes(config::join(above ? from : to, "."));
    const std::string what = fmt::format("{} overwrites {}, which {} sets", name, path, earlier.name);
    if (!told_.insert(what).second) return;
    diagnostics_.error(later.place, what,
                       earlier.kind == Kind::same
                           ? "write this one first, or remove one of them"
                           : "remove one of them, because a row would be labelled with a value that it does not have");
  }

  const Scenario& scenario_;
  config::Diagnostics& diagnostics_;
  std::vector<Earlier> earlier_;
  std::set<std::string> told_;
};

}  // namespace

void check_overwrites(const Scenario& scenario, config::Diagnostics& diagnostics) {
  OverwriteCheck(scenario, diagnostics).check();
}

bool varies_runs(const config::Override& set) {
  const std::string& first = set.path.front();
  return first == "system" || first == "program" || first == "perturb" || first == "operating_point";
}

bool replaces(const config::Override& change, const config::Override& set) {
  const Path above = plain(change.path);
  const Path below = plain(set.path);
  return above.size() < below.size() && starts_with(below, above);
}

std::size_t Scenario::points() const {
  std::size_t count = 1;
  for (const Axis& axis : axes) count *= axis.points.size();
  return count;
}

std::size_t Scenario::runs() const { return points() * std::max<std::size_t>(1, variants.size()); }

std::string Run::label() const {
  std::vector<std::string> names;
  for (const Choice* choice : choices) names.push_back(choice->name);
  return config::join(names);
}

Run run_of(const Scenario& scenario, std::size_t number) {
  Run run;
  const std::size_t variants = std::max<std::size_t>(1, scenario.variants.size());
  run.point = number / variants;
  std::size_t rest = run.point;
  run.choices.resize(scenario.axes.size());
  for (std::size_t a = scenario.axes.size(); a-- > 0;) {
    const std::vector<Choice>& points = scenario.axes[a].points;
    run.choices[a] = &points[rest % points.size()];
    rest /= points.size();
  }
  if (!scenario.variants.empty()) {
    run.variant = number % variants;
    run.choices.push_back(&scenario.variants[*run.variant]);
  }
  return run;
}

std::string label_of_point(const Scenario& scenario, std::size_t point) {
  Run run = run_of(scenario, point * std::max<std::size_t>(1, scenario.variants.size()));
  if (run.variant) run.choices.pop_back();
  return run.label();
}

bool apply_change(const config::Override& change, config::Node& tree, config::Diagnostics& diagnostics) {
  static const config::ListForm queue{{"program", "queues", "*"}, "operations"};
  return config::apply(change, tree, diagnostics, &queue);
}

Scenario read_scenario(config::Node tree, std::vector<config::Override> sets, config::Diagnostics& diagnostics) {
  Scenario scenario;
  scenario.sets = std::move(sets);
  scenario.tree = std::move(tree);
  const auto spec = config::parse<ScenarioSpec>(scenario.tree, diagnostics);
  const auto part = [&scenario](std::string_view key) {
    const config::Node* node = scenario.tree.find(key);
    return node ? *node : config::Node{};
  };
  ScenarioReader reader(scenario, diagnostics);
  reader.variants(part("variants"));
  reader.sweep(part("sweep"));
  if (spec) {
    scenario.description = spec->description;
    if (spec->compare) reader.compare(*spec->compare, part("compare"));
  }
  return scenario;
}

std::optional<Scenario> load_scenario(const std::filesystem::path& file, const std::vector<std::string>& sets,
                                      config::Diagnostics& diagnostics) {
  auto overrides = config::parse_sets(sets, diagnostics);
  auto tree = config::load(file, {}, diagnostics);
  if (!tree) return std::nullopt;
  return scenario_of(file, std::move(*tree), std::move(overrides), diagnostics);
}

Scenario scenario_of(const std::filesystem::path& file, config::Node tree, std::vector<config::Override> sets,
                     config::Diagnostics& diagnostics) {
  for (const config::Override& change : sets) {
    if (!apply_change(change, tree, diagnostics)) tree.broken = true;
  }
  Scenario scenario = read_scenario(std::move(tree), std::move(sets), diagnostics);
  scenario.name = file.stem().string();
  return scenario;
}

}  // namespace moire::study
