#include "app/evidence/validate/scenario_group.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "app/evidence/validate/case_scenario.hpp"
#include "app/evidence/validate/measured_rows.hpp"
#include "app/evidence/validate/shared.hpp"
#include "app/study/study.hpp"
#include "sim/config/suggest.hpp"

namespace moire::validate {

namespace {

using config::in_quotes;

struct ScenarioCase {
  MeasuredCase measured;
  CaseStudy study;
};

// Collects the errors of all cases and reports each error once. If only some cases have an error, its message names the
// first of them.
class CaseErrors {
 public:
  void add(const std::string& label, const config::Diagnostics& own) {
    ++cases_;
    for (const config::Diagnostic& error : own.sorted()) {
      const auto [it, fresh] = seen_.try_emplace(error.str(), Seen{error, label, 0});
      if (fresh) order_.push_back(&it->second);
      ++it->second.cases;
    }
  }
  void tell(config::Diagnostics& diagnostics) const {
    for (const Seen* one : order_) {
      std::string what = one->error.what;
      if (one->cases < cases_) {
        what += one->cases == 1
                    ? fmt::format(" (in case {})", in_quotes(one->first))
                    : fmt::format(" (in {} of {} cases, first {})", one->cases, cases_, in_quotes(one->first));
      }
      diagnostics.error(one->error.place, what, one->error.remedy);
    }
  }

 private:
  struct Seen {
    config::Diagnostic error;
    std::string first;
    std::size_t cases = 0;
  };
  std::map<std::string, Seen> seen_;
  std::vector<const Seen*> order_;
  std::size_t cases_ = 0;
};

class ScenarioGroup : public Group {
 public:
  ScenarioGroup(ScenarioGroupSpec spec, Limits limits, config::Place metric_place)
      : spec_(std::move(spec)), limits_(limits), metric_place_(std::move(metric_place)) {}

  // Stores the measured values and prepares the run of every case. Returns false if a case has errors.
  bool prepare_cases(MeasuredCases measured, const config::Node& tree, const Loading& loading,
                     config::Diagnostics& diagnostics) {
    left_out_ = std::move(measured.left_out);
    origins_ = std::move(measured.origins);
    const auto shared = std::make_shared<const config::Node>(tree);
    CaseErrors errors;
    const std::size_t before = diagnostics.size();
    for (MeasuredCase& one : measured.cases) {
      config::Diagnostics own;
      std::vector<config::Override> changes = one.changes;
      changes.insert(changes.end(), loading.sets.begin(), loading.sets.end());
      CaseStudy study = prepare_case(one.name, shared, std::move(changes), *loading.preparer, own);
      errors.add(one.name, own);
      cases_.push_back({std::move(one), std::move(study)});
    }
    errors.tell(diagnostics);
    return diagnostics.size() == before;
  }

  std::vector<const CaseStudy*> case_studies() const override {
    std::vector<const CaseStudy*> all;
    for (const ScenarioCase& one : cases_) all.push_back(&one.study);
    return all;
  }
  std::size_t runs() const override { return 0; }
  std::size_t cases() const override { return cases_.size(); }
  std::map<std::string, std::set<std::string>> named_by() const override {
    std::map<std::string, std::set<std::string>> columns;
    for (const ScenarioCase& one : cases_)
      for (const auto& [column, value] : one.measured.named_by) columns[column].insert(value);
    return columns;
  }

  GroupResult run(const Running& running) const override {
    GroupResult result;
    result.name = spec_.name;
    result.kind = "scenario";
    result.left_out = left_out_;
    result.origins = origins_;
    for (const ScenarioCase& one : cases_) {
      const study::RunResult& simulated = running.simulated(one.study);
      if (!simulated.deadlock.empty()) throw Deadlocked{one.measured.name, simulated.deadlock};
      const auto value = metric_of(simulated, one, *running.diagnostics);
      if (!value) return result;
      result.cases.push_back({one.measured.name, "", spec_.metric, std::string(study::unit_of(spec_.metric)),
                              one.measured.value, one.measured.low, one.measured.high, std::nullopt, *value, false,
                              one.measured.named_by, one.measured.reference, one.measured.again});
    }
    result.summarise();
    apply(limits_, result);
    return result;
  }

 private:
  std::optional<double> metric_of(const study::RunResult& run, const ScenarioCase& one,
                                  config::Diagnostics& diagnostics) const {
    std::vector<std::string> names;
    for (const study::Metric& metric : run.metrics) {
      if (metric.name == spec_.metric) return metric.value;
      names.push_back(metric.name);
    }
    diagnostics.error(
        metric_place_,
        fmt::format("the run of case {} has no metric {}", in_quotes(one.measured.name), in_quotes(spec_.metric)),
        config::suggestion(spec_.metric, names, "its metrics"));
    return std::nullopt;
  }

  const ScenarioGroupSpec spec_;
  const Limits limits_;
  const config::Place metric_place_;
  std::vector<ScenarioCase> cases_;
  std::vector<std::string> left_out_;
  std::vector<Origin> origins_;
};

}  // namespace

void MeasuredSpec::describe(config::Describer<MeasuredSpec>& d) {
  d.component("measured", "Where the measured values of a group are: in a table or in this file.");
  d.field("file", &MeasuredSpec::file,
          "CSV file of measured values, *.csv or *.csv.zst; without it `value` is the value itself")
      .example("../validation/h200/operator.csv");
  d.field("value", &MeasuredSpec::value,
          "Column of the values; rows without a value are left out. Without `file`: the value itself")
      .example("fused_us");
  d.field("low", &MeasuredSpec::low, "Column of the smallest repetition").example("fused_low_us");
  d.field("high", &MeasuredSpec::high, "Column of the largest repetition").example("fused_high_us");
  d.field("reference", &MeasuredSpec::reference,
          "Column of the measured values of something else, with which `speedups` compare")
      .example("nccl_us");
  d.field("unit", &MeasuredSpec::unit, "Unit of the columns; 1 for counts. Required with `file`").example("us");
  d.field("source", &MeasuredSpec::source, "Where the value was measured. Required without `file`")
      .example("our own run, 2026-11-21");
  d.field("again", &MeasuredSpec::again,
          "CSV files with the same columns, in which other machines measured the same cases; the report says how far "
          "the machines differ")
      .example("[../validation/h200x4/c3_again.csv]")
      .optional();
}

void ScenarioGroupSpec::describe(config::Describer<ScenarioGroupSpec>& d) {
  d.component("validation_group", "Cases of a validation file that run one scenario with changes.");
  d.field("name", &ScenarioGroupSpec::name, "Name of the group").example("fused");
  d.field("like", &ScenarioGroupSpec::like, "Part of `shared` whose keys the group has unless it sets them itself")
      .example("grid")
      .optional();
  d.field("scenario", &ScenarioGroupSpec::scenario, "A scenario without variants and sweep: a file, or its keys")
      .example("../configs/scenarios/embedding_h200.yaml");
  d.field("measured", &ScenarioGroupSpec::measured, "The measured values")
      .example("{file: ../validation/h200/operator.csv, value: fused_us, unit: us}");
  d.field("rows", &ScenarioGroupSpec::rows, "Rows of the table to use: column to value, or to a list of values")
      .example("{gpus: 4}")
      .optional();
  d.field("case", &ScenarioGroupSpec::case_columns,
          "Column, or list of columns, that names the cases. Required with `measured.file`")
      .example("name")
      .optional();
  d.field("set", &ScenarioGroupSpec::set,
          "Changes to the scenario: map from path to value; $column stands for the row's value, $$ for a dollar")
      .example("{program.queues.main.0.gemm.m: $m}")
      .optional();
  d.field("metric", &ScenarioGroupSpec::metric,
          "Metric of the run that is compared with the measured value (`moire explain metrics`)")
      .or_default();
  d.field("limits", &ScenarioGroupSpec::limits, "Limits on the errors").example("{case: 15 %, mean: 6 %}").optional();
}

std::unique_ptr<Group> read_scenario_group(const config::Node& node, const std::string& path, const Loading& loading,
                                           config::Diagnostics& diagnostics) {
  auto spec = parse_known<ScenarioGroupSpec>(node, diagnostics, path);
  if (!spec) return nullptr;
  const auto limits = read_limits(spec->limits, "%", diagnostics);
  if (!is_scenario(spec->scenario, path, diagnostics)) return nullptr;
  auto measured = read_measured(*spec, node, loading.predict, diagnostics);
  if (!measured || !limits) return nullptr;
  const config::Node* metric = node.find("metric");
  const config::Node tree = spec->scenario;
  auto group = std::make_unique<ScenarioGroup>(std::move(*spec), *limits, metric ? metric->place : node.place);
  if (!group->prepare_cases(std::move(*measured), tree, loading, diagnostics)) return nullptr;
  return group;
}

}  // namespace moire::validate
