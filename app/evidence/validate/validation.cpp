// Over 400 lines: the keys of a validation file, and the errors in them.
#include "app/evidence/validate/validation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "app/evidence/validate/expected.hpp"
#include "app/evidence/validate/machines.hpp"
#include "app/evidence/validate/shared.hpp"
#include "app/study/progress.hpp"
#include "app/study/study.hpp"
#include "sim/config/suggest.hpp"

namespace moire::validate {

namespace {

using config::Diagnostics;
using config::in_quotes;
using config::Node;

bool changes_scenarios(const config::Override& set) {
  return set.path.front() == "system" || set.path.front() == "program";
}

const GroupKind& kind_of(const Node& group) {
  const std::vector<GroupKind>& kinds = group_kinds();
  for (const GroupKind& kind : kinds)
    if (group.find(kind.key)) return kind;
  return kinds.back();
}

std::string name_of(const Node& group) {
  const Node* name = group.find("name");
  return name && name->is_scalar() ? name->text : "";
}

// Reads the groups from the tree and not from the spec: if a key outside the groups is wrong, there is no spec, but
// errors in the groups are still reported.
void read_groups(const Node& tree, const Loading& loading, Validation& out, Diagnostics& diagnostics) {
  const Node* groups = tree.find("groups");
  if (!groups || !groups->is_sequence()) return;  // parsing the spec reports this error
  if (groups->items.empty())
    diagnostics.error(groups->place, "'groups' has no group", "write one, {name: ..., scenario: ..., measured: ...}");
  for (std::size_t i = 0; i < groups->items.size(); ++i) {
    const Node& node = groups->items[i];
    const std::string name = name_of(node);
    if (!name.empty() && std::find(out.group_names.begin(), out.group_names.end(), name) != out.group_names.end())
      diagnostics.error(node.find("name")->place, fmt::format("two groups have the name {}", in_quotes(name)),
                        "give each group its own name");
    out.group_names.push_back(name);
    if (auto group = kind_of(node).read(node, fmt::format("groups.{}", i), loading, diagnostics))
      out.groups.push_back(std::move(group));
  }
}

const config::Place& place_in(const Node& node, const char* key) {
  const Node* at = node.find(key);
  return at ? at->place : node.place;
}

// Returns the index of the group that a difference, an effect or a speed-up names. Reports an error and returns 0 if
// there is no such group.
std::size_t group_number(const Validation& validation, const std::string& group, const Node& node, const char* key,
                         Diagnostics& diagnostics) {
  const std::vector<std::string>& names = validation.group_names;
  const auto known = std::find(names.begin(), names.end(), group);
  if (known != names.end()) return static_cast<std::size_t>(known - names.begin());
  diagnostics.error(place_in(node, key), fmt::format("'{}' does not name a group: {}", key, in_quotes(group)),
                    config::suggestion(group, names, "groups"));
  return 0;
}

void take_name(const std::string& name, const Node& node, std::vector<std::string>& names, Diagnostics& diagnostics) {
  if (std::find(names.begin(), names.end(), name) != names.end())
    diagnostics.error(node.place, fmt::format("{} is the name of another group, difference or effect", in_quotes(name)),
                      "give each its own name");
  names.push_back(name);
}

void read_effects(const ValidationSpec& spec, const Node& tree, std::vector<std::string>& names, Validation& out,
                  Diagnostics& diagnostics) {
  const Node* list = tree.find("effects");
  for (std::size_t i = 0; i < spec.effects.size(); ++i) {
    const EffectSpec& one = spec.effects[i];
    const Node& node = list->items[i];
    Effect made{one.name, group_number(out, one.of, node, "of", diagnostics), one.by, one.against, 0, {}, {}};
    take_name(one.name, node, names, diagnostics);
    if (!one.same_within.is_null()) made.same_within = read_limit(one.same_within, "%", diagnostics).value_or(0);
    if (!one.good_within.is_null())
      made.good_within = read_limit(one.good_within, "%", diagnostics).value_or(usual_good_within);
    if (!one.most_wrong.is_null()) made.most_wrong = read_limit(one.most_wrong, "%", diagnostics);
    if (!one.most_bad_choices.is_null()) made.most_bad_choices = read_limit(one.most_bad_choices, "%", diagnostics);
    // `groups` lacks groups that could not be read. Only if it lacks none, indices of names are indices of groups.
    if (out.groups.size() == out.group_names.size() && made.of < out.groups.size()) {
      const auto columns = out.groups[made.of]->named_by();
      const auto column = columns.find(one.by);
      if (column == columns.end()) {
        std::vector<std::string> known;
        for (const auto& [name, values] : columns) known.push_back(name);
        diagnostics.error(place_in(node, "by"), fmt::format("no column {} names the cases", in_quotes(one.by)),
                          config::suggestion(one.by, known, "columns in 'case' of its group"));
      } else if (!column->second.contains(one.against)) {
        diagnostics.error(place_in(node, "against"),
                          fmt::format("no case has {} in column '{}'", in_quotes(one.against), one.by),
                          config::suggestion(one.against, {column->second.begin(), column->second.end()}, "values"));
      }
    }
    out.effects.push_back(std::move(made));
  }
}

void read_differences(const ValidationSpec& spec, const Node& tree, std::vector<std::string>& names, Validation& out,
                      Diagnostics& diagnostics) {
  const Node* list = tree.find("differences");
  for (std::size_t i = 0; i < spec.differences.size(); ++i) {
    const DifferenceSpec& one = spec.differences[i];
    const Node& node = list->items[i];
    Validation::Difference made{one.name,
                                group_number(out, one.of, node, "of", diagnostics),
                                group_number(out, one.against, node, "against", diagnostics),
                                {},
                                {}};
    if (one.less) made.less = group_number(out, *one.less, node, "less", diagnostics);
    if (made.of == made.against && one.of == one.against)
      diagnostics.error(node.place, "'of' and 'against' are the same group", "compare two different groups");
    take_name(one.name, node, names, diagnostics);
    made.limits = read_limits(one.limits, "points", diagnostics).value_or(Limits{});
    out.differences.push_back(std::move(made));
  }
}

void read_speedups(const ValidationSpec& spec, const Node& tree, std::vector<std::string>& names, Validation& out,
                   Diagnostics& diagnostics) {
  const Node* list = tree.find("speedups");
  const Node* groups = tree.find("groups");
  for (std::size_t i = 0; i < spec.speedups.size(); ++i) {
    const SpeedupSpec& one = spec.speedups[i];
    const Node& node = list->items[i];
    Speedup made{one.name, {}, {}};
    take_name(one.name, node, names, diagnostics);
    if (one.of.empty()) diagnostics.error(place_in(node, "of"), "'of' names no group", "name one, of: [small]");
    for (const std::string& group : one.of) {
      const std::size_t number = group_number(out, group, node, "of", diagnostics);
      made.of.push_back(number);
      const bool known = number < out.group_names.size() && out.group_names[number] == group;
      const Node* measured =
          known && groups && number < groups->items.size() ? groups->items[number].find("measured") : nullptr;
      if (known && (measured == nullptr || measured->find("reference") == nullptr))
        diagnostics.error(place_in(node, "of"), fmt::format("group {} has no 'measured.reference'", in_quotes(group)),
                          "name the column with which the group is compared: 'reference: COLUMN' in 'measured'");
    }
    made.limits = read_limits(one.limits, "%", diagnostics).value_or(Limits{});
    out.speedups.push_back(std::move(made));
  }
}

// Reads the fits from the tree and not from the spec: if a key elsewhere is wrong, there is no spec, but errors in the
// fits are still reported.
void read_fits(const Node& tree, Validation& out, Diagnostics& diagnostics) {
  const Node* list = tree.find("fit");
  if (!list || !list->is_sequence()) return;  // parsing the spec reports this error
  std::map<std::string, std::string> fitted;  // path of a fitted value -> name of its fit
  for (std::size_t i = 0; i < list->items.size(); ++i) {
    const auto spec = config::parse<FitSpec>(list->items[i], diagnostics, nullptr, fmt::format("fit.{}", i));
    if (!spec) continue;
    Fit fit = read_fit(*spec, list->items[i], out.group_names, diagnostics);
    for (const Fit& other : out.fits) {
      if (other.name == fit.name)
        diagnostics.error(fit.place, fmt::format("two fits have the name {}", in_quotes(fit.name)),
                          "give each fit its own name");
    }
    for (const FitKey& key : fit.keys) {
      const auto [known, fresh] = fitted.emplace(key.path, fit.name);
      if (!fresh)
        diagnostics.error(key.place,
                          fmt::format("'{}' is fitted twice, first by {}", key.path, in_quotes(known->second)),
                          "fit it once, to the groups that determine it best");
    }
    // `groups` lacks groups that could not be read. Only if it lacks none, indices of names are indices of groups.
    for (const std::size_t number : fit.groups) {
      if (out.groups.size() == out.group_names.size() && out.groups[number]->case_studies().empty())
        diagnostics.error(fit.place, fmt::format("group {} has no scenario", in_quotes(out.group_names[number])),
                          "a profile is fitted to groups with 'scenario' and 'measured'");
    }
    out.fits.push_back(std::move(fit));
  }
}

std::optional<double> reduction(const std::optional<double>& of, const std::optional<double>& against,
                                const std::optional<double>& less) {
  if (!of || !against || !less || *against == *less) return std::nullopt;
  return 100 * (*against - *of) / (*against - *less);
}

const Case* same_case(const GroupResult& group, const Case& one) {
  const auto found = std::find_if(group.cases.begin(), group.cases.end(), [&one](const Case& candidate) {
    return candidate.name == one.name && candidate.unit == one.unit;
  });
  return found == group.cases.end() ? nullptr : &*found;
}

// Returns for each case how many percent smaller its value is in group `of` than in group `against`, measured and
// simulated. The values of group `less`, if any, are subtracted from both values first.
GroupResult difference(const Validation::Difference& spec, const std::vector<GroupResult>& groups) {
  const GroupResult &of = groups[spec.of], &against = groups[spec.against];
  const GroupResult* const less = spec.less ? &groups[*spec.less] : nullptr;
  GroupResult result;
  result.name = spec.name;
  result.kind = "difference";
  result.about = fmt::format("reduction of {} against {}", of.name, against.name);
  if (less != nullptr) result.about += fmt::format(", after subtracting {} from both", less->name);
  result.error_unit = "points";
  for (const Case& one : of.cases) {
    Case nothing;
    nothing.measured = nothing.expected = 0;
    const Case* const other = same_case(against, one);
    const Case* const base = less == nullptr ? &nothing : same_case(*less, one);
    const bool there = other != nullptr && base != nullptr;
    const auto simulated = there ? reduction(one.simulated, other->simulated, base->simulated) : std::nullopt;
    if (!simulated) {
      result.left_out.push_back(one.name);
      continue;
    }
    Case made;
    made.name = one.name;
    made.metric = "reduction_percent";
    made.unit = "%";
    made.in_points = true;
    made.simulated = *simulated;
    made.measured = reduction(one.measured, other->measured, base->measured);
    made.expected = reduction(one.expected, other->expected, base->expected);
    for (std::size_t i = 0; i < std::min(one.again.size(), other->again.size()); ++i) {
      if (less != nullptr && base->again.size() <= i) break;
      made.again.push_back(reduction(one.again[i], other->again[i], less != nullptr ? base->again[i] : 0));
    }
    result.cases.push_back(std::move(made));
  }
  result.summarise();
  apply(spec.limits, result);
  return result;
}

Summary overall(const std::vector<GroupResult>& groups) {
  std::vector<double> errors;
  for (const GroupResult& group : groups) {
    if (!has_own_errors(group) || group.kind == "trace") continue;
    for (const Case& one : group.cases)
      if (const auto error = one.error()) errors.push_back(*error);
  }
  return summarise(errors);
}

// Simulates the cases of all groups. Cases are simulated once if they have the same prepared run and ask for the same
// analysis (ideal, blame, comparison).
class Simulations {
 public:
  explicit Simulations(const Validation& validation) {
    using Asked = std::tuple<const study::PreparedRun*, std::optional<study::Ideal>, bool, bool>;
    std::map<Asked, std::size_t> known;
    for (std::size_t g = 0; g < validation.groups.size(); ++g) {
      for (const CaseStudy* one : validation.groups[g]->case_studies()) {
        const study::Scenario& scenario = one->study.scenario;
        const study::PreparedRun* run = one->study.runs.front().get();
        std::size_t number = studies_.size();
        if (run != nullptr) {
          const Asked asked{run, scenario.ideal, scenario.blame, scenario.compare_to.has_value()};
          number = known.emplace(asked, number).first->second;
        }
        number_[one] = number;
        if (number < studies_.size()) continue;
        studies_.push_back(&one->study);
        labels_.push_back(validation.group_names[g] + ", " + one->name);
      }
    }
  }
  std::size_t count() const { return studies_.size(); }
  void run(std::size_t at_once, std::size_t of, study::Progress& progress) {
    results_ = study::run_all(
        studies_, at_once, [&](std::size_t i) { progress.run(i + 1, of, labels_[i]); }, [&] { progress.tick(); });
  }
  const study::RunResult& of(const CaseStudy& study) const { return results_[number_.at(&study)]; }

 private:
  std::vector<const study::PreparedStudy*> studies_;
  std::vector<std::string> labels_;
  std::vector<study::RunResult> results_;
  std::map<const CaseStudy*, std::size_t> number_;
};

}  // namespace

void DifferenceSpec::describe(config::Describer<DifferenceSpec>& d) {
  d.component("difference",
              "Reduction of one group of a validation file relative to another, in percent, case by case.");
  d.field("name", &DifferenceSpec::name, "Name of the difference").example("reduction by fusion");
  d.field("of", &DifferenceSpec::of, "Group whose values are expected to be smaller").example("fused");
  d.field("against", &DifferenceSpec::against, "Group with which it is compared; cases are matched by name")
      .example("bulk");
  d.field("less", &DifferenceSpec::less,
          "Group whose values are subtracted from the values of both groups, such as the computation alone; the "
          "reduction is then that of the exposed communication (overlap efficiency)")
      .example("product alone")
      .optional();
  d.field("limits", &DifferenceSpec::limits,
          "Limit on the difference between simulated and measured reduction, in percentage points")
      .example("{mean: 4 points}")
      .optional();
}

void ValidationSpec::describe(config::Describer<ValidationSpec>& d) {
  d.component("validation", "Input of `moire validate`: measured cases and how to simulate them.");
  d.field("description", &ValidationSpec::description, "What is validated; the title of the tables and of the report");
  d.field("shared", &ValidationSpec::shared,
          "Keys that several groups have in common: map from a name to keys; groups refer to a name with `like`")
      .example("{grid: {scenario: ..., set: {...}}}")
      .optional();
  d.field("groups", &ValidationSpec::groups,
          "Groups of cases; the keys of a group determine its kind, see validation_group")
      .example("[{name: fused, scenario: ..., measured: {...}}]");
  d.field("differences", &ValidationSpec::differences, "Reductions of groups relative to others")
      .example("[{name: reduction by fusion, of: fused, against: bulk}]")
      .optional();
  d.field("effects", &ValidationSpec::effects,
          "How a choice changes a group, and how often the simulation predicts the sign")
      .example("[{name: strategies, of: c3, by: strategy, against: compute_first}]")
      .optional();
  d.field("speedups", &ValidationSpec::speedups,
          "How many times faster the cases of groups are than the values in a reference column of their tables")
      .example("[{name: over NCCL, of: [small, large]}]")
      .optional();
  d.field("fit", &ValidationSpec::fit, "What `moire calibrate` fits in a library's profile, in this order")
      .example("[{name: ll, groups: [ll], keys: {channels.ll.step_overhead: 0.4 us}}]")
      .optional();
  d.field("expected", &ValidationSpec::expected,
          "The table that `moire validate --predict` printed before the measurement")
      .example("expected.csv");
}

std::size_t Validation::cases() const {
  std::size_t count = 0;
  for (const auto& group : groups) count += group->cases();
  return count;
}

void describe(config::Catalogue& catalogue) {
  catalogue.add<ValidationSpec>();
  catalogue.add<FitSpec>();
  for (const GroupKind& kind : group_kinds()) kind.describe(catalogue);
}

namespace {

std::optional<Validation> load(const std::filesystem::path& file, const std::vector<config::Override>& own,
                               const Loading& loading, Diagnostics& diagnostics) {
  auto tree = config::load(file, own, diagnostics);
  if (!tree) return std::nullopt;
  complete_groups(*tree, diagnostics);
  const auto spec = parse_known<ValidationSpec>(*tree, diagnostics);
  Validation validation;
  validation.name = file.stem().string();
  read_groups(*tree, loading, validation, diagnostics);
  read_fits(*tree, validation, diagnostics);
  if (!spec) return std::nullopt;
  validation.description = spec->description;
  std::vector<std::string> names = validation.group_names;
  read_differences(*spec, *tree, names, validation, diagnostics);
  read_effects(*spec, *tree, names, validation, diagnostics);
  read_speedups(*spec, *tree, names, validation, diagnostics);
  if (spec->expected && !loading.predict) {
    const Node* at = tree->find("expected");
    validation.expected_file = spec->expected->string();
    if (auto table = read_expected(*spec->expected, at ? at->place : tree->place, diagnostics))
      validation.expected = std::move(*table);
  }
  if (!diagnostics.ok()) return std::nullopt;
  return validation;
}

}  // namespace

std::optional<Validation> load_validation(const std::filesystem::path& file, const std::vector<std::string>& sets,
                                          bool predict, study::Preparer& preparer, Diagnostics& diagnostics) {
  Loading loading;
  loading.preparer = &preparer;
  loading.predict = predict;
  std::vector<config::Override> own;
  for (config::Override& set : config::parse_sets(sets, diagnostics))
    (changes_scenarios(set) ? loading.sets : own).push_back(std::move(set));
  return load(file, own, loading, diagnostics);
}

std::optional<Validation> load_validation(const std::filesystem::path& file,
                                          const std::vector<config::Override>& changes, Diagnostics& diagnostics) {
  study::Preparer preparer;
  Loading loading;
  loading.preparer = &preparer;
  loading.sets = changes;
  return load(file, {}, loading, diagnostics);
}

ValidationResult run_validation(const Validation& validation, std::size_t at_once, Diagnostics& diagnostics) {
  ValidationResult result;
  study::Progress progress;
  Simulations simulations(validation);
  std::size_t runs = simulations.count();
  for (const auto& group : validation.groups) runs += group->runs();
  simulations.run(at_once, runs, progress);
  std::size_t number = simulations.count();
  for (std::size_t g = 0; g < validation.groups.size(); ++g) {
    Running running;
    running.diagnostics = &diagnostics;
    running.begin = [&](const std::string& label) {
      progress.run(++number, runs, validation.group_names[g] + ", " + label);
    };
    running.tick = [&] { progress.tick(); };
    running.simulated = [&](const CaseStudy& study) -> const study::RunResult& { return simulations.of(study); };
    try {
      result.groups.push_back(validation.groups[g]->run(running));
    } catch (const Deadlocked& deadlocked) {
      result.deadlock = fmt::format("group {}, case {}\n{}", in_quotes(validation.group_names[g]),
                                    in_quotes(deadlocked.label), deadlocked.report);
      return result;
    }
    if (!diagnostics.ok()) return result;
  }
  result.unused_expected = add_expectations(validation.expected, result.groups);
  for (GroupResult& group : result.groups) group.summarise();
  for (const Validation::Difference& spec : validation.differences)
    result.groups.push_back(difference(spec, result.groups));
  for (const Speedup& spec : validation.speedups) result.groups.push_back(speedup(spec, result.groups));
  for (const Effect& spec : validation.effects) result.groups.push_back(effect(spec, result.groups[spec.of]));
  for (GroupResult& group : result.groups) compare_machines(group);
  result.overall = overall(result.groups);
  return result;
}

}  // namespace moire::validate
