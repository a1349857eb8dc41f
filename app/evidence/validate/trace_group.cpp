#include "app/evidence/validate/trace_group.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/evidence/validate/case_scenario.hpp"
#include "app/evidence/validate/limits.hpp"
#include "app/evidence/validate/shared.hpp"
#include "app/evidence/wg_compare/compare.hpp"
#include "app/evidence/wg_compare/simulate.hpp"
#include "app/evidence/wg_compare/trace.hpp"
#include "sim/config/suggest.hpp"

namespace moire::validate {

namespace {

using config::in_quotes;

// Replaces a trace group for `moire validate --predict`: what a trace recorded need not be predicted.
class NoGroup : public Group {
 public:
  explicit NoGroup(std::string name) : name_(std::move(name)) {}
  std::size_t runs() const override { return 0; }
  std::size_t cases() const override { return 0; }
  GroupResult run(const Running&) const override {
    GroupResult result;
    result.name = name_;
    result.kind = "trace";
    return result;
  }

 private:
  const std::string name_;
};

class TraceGroup : public Group {
 public:
  TraceGroup(std::string name, std::string file, wg_compare::Trace trace, CaseStudy study, config::Place place,
             std::vector<std::pair<std::string, double>> limits)
      : name_(std::move(name)),
        file_(std::move(file)),
        trace_(std::move(trace)),
        study_(std::move(study)),
        place_(std::move(place)),
        limits_(std::move(limits)) {}

  std::size_t runs() const override { return 1; }
  std::size_t cases() const override { return 1; }

  GroupResult run(const Running& running) const override {
    GroupResult result;
    result.name = name_;
    result.kind = "trace";
    result.about = fmt::format("kernel {}, workgroup by workgroup", trace_.record.kernel);
    result.origins.push_back({file_, trace_.header.provenance});
    running.begin(trace_.record.kernel);
    const wg_compare::Recorded simulated = wg_compare::simulate_recorded(*study_.study.run(0), trace_.record.kernel);
    if (!simulated.deadlock.empty()) throw Deadlocked{trace_.record.kernel, simulated.deadlock};
    if (!simulated.record) {
      running.diagnostics->error(
          place_,
          fmt::format("no kernel of the scenario can be identified as the trace's {}", in_quotes(trace_.record.kernel)),
          "the scenario runs " + config::join(simulated.kernels));
      return result;
    }
    wg_compare::Comparison comparison = compare(trace_.record, *simulated.record);
    for (const config::Problem& mismatch : comparison.mismatches) {
      running.diagnostics->error(place_, mismatch);
    }
    for (const wg_compare::Pair& pair : comparison.pairs) {
      Case one;
      one.name = pair.name;
      one.metric = pair.name;
      one.unit = pair.unit;
      one.measured = pair.measured;
      one.simulated = pair.simulated;
      result.cases.push_back(std::move(one));
    }
    result.metrics = std::move(comparison.metrics);
    result.figures = std::move(comparison.figures);
    for (const auto& [metric, most] : limits_) {
      for (const study::Metric& known : result.metrics)
        if (known.name == metric) result.limits.push_back({metric, most, std::abs(known.value), ""});
    }
    return result;
  }

 private:
  const std::string name_;
  const std::string file_;
  const wg_compare::Trace trace_;
  const CaseStudy study_;
  const config::Place place_;  // of the scenario
  const std::vector<std::pair<std::string, double>> limits_;
};

std::vector<std::pair<std::string, double>> read_metric_limits(const TraceGroupSpec& spec, const config::Node& node,
                                                               config::Diagnostics& diagnostics) {
  std::vector<std::pair<std::string, double>> limits;
  std::vector<std::string> names;
  for (const study::MetricInfo& info : wg_compare::metric_infos()) names.push_back(info.name);
  const config::Node* map = node.find("limits");
  for (std::size_t i = 0; i < spec.limits.size(); ++i) {
    const auto& [name, value] = spec.limits[i];
    const config::Place& place = map && i < map->entries.size() ? map->entries[i].key_place : value.place;
    if (std::find(names.begin(), names.end(), name) == names.end())
      diagnostics.error(place, fmt::format("a WG comparison has no metric {}", in_quotes(name)),
                        config::suggestion(name, names, "metrics"));
    if (const auto most = read_limit(value, "%", diagnostics)) limits.emplace_back(name, *most);
  }
  return limits;
}

std::vector<config::Override> changes_of(const TraceGroupSpec& spec, const config::Node& node,
                                         const std::optional<wg_compare::Trace>& trace, const Loading& loading,
                                         config::Diagnostics& diagnostics) {
  std::vector<config::Override> changes;
  if (trace && !spec.shape.empty()) {
    const std::vector<std::string> sets = wg_compare::shape_sets(trace->header, spec.shape);
    if (sets.empty()) {
      const config::Node* shape = node.find("shape");
      diagnostics.error(shape ? shape->place : node.place,
                        fmt::format("{} does not state its shape", in_quotes(spec.trace.string())),
                        "remove 'shape' and write the sizes into 'set'");
    }
    changes = config::parse_sets(sets, diagnostics);
  }
  for (const auto& [path, value] : spec.set) {
    if (auto change = config::make_override(path, value, diagnostics)) changes.push_back(std::move(*change));
  }
  changes.insert(changes.end(), loading.sets.begin(), loading.sets.end());
  return changes;
}

}  // namespace

void TraceGroupSpec::describe(config::Describer<TraceGroupSpec>& d) {
  std::vector<std::string> names;
  for (const study::MetricInfo& info : wg_compare::metric_infos()) names.push_back(info.name);
  d.component("trace_group", "A recorded WG trace compared with its simulation, workgroup by workgroup.");
  d.field("name", &TraceGroupSpec::name, "Name of the group").example("balanced shape");
  d.field("like", &TraceGroupSpec::like, "Part of `shared` whose keys the group has unless it sets them itself")
      .example("grid")
      .optional();
  d.field("trace", &TraceGroupSpec::trace, "The WG trace, *.wgtrace.csv.zst")
      .example("../traces/h200x4/fused_embedding_alltoall.wgtrace.csv.zst")
      .exists();
  d.field("scenario", &TraceGroupSpec::scenario, "A scenario without variants and sweep that runs the trace's kernel")
      .example("../configs/scenarios/embedding_h200.yaml");
  d.field("shape", &TraceGroupSpec::shape,
          "Path of an embedding_all_to_all that takes its sizes from the trace's header")
      .example("program.queues.main.0.embedding_all_to_all")
      .optional();
  d.field("set", &TraceGroupSpec::set, "Changes to the scenario, path to value; they apply after those of `shape`")
      .example("{program.queues.main.0.embedding_all_to_all.schedule: fused}")
      .optional();
  d.field("limits", &TraceGroupSpec::limits,
          "Limits on the absolute values of the comparison's metrics: " + config::join(names))
      .example("{makespan_error_percent: 10 %}")
      .optional();
}

std::unique_ptr<Group> read_trace_group(const config::Node& node, const std::string& path, const Loading& loading,
                                        config::Diagnostics& diagnostics) {
  const std::size_t before = diagnostics.size();
  auto spec = parse_known<TraceGroupSpec>(node, diagnostics, path);
  if (!spec) return nullptr;
  if (loading.predict) return std::make_unique<NoGroup>(spec->name);
  auto limits = read_metric_limits(*spec, node, diagnostics);
  auto trace = wg_compare::read_trace(spec->trace, loading.preparer->traces(), diagnostics);
  auto changes = changes_of(*spec, node, trace, loading, diagnostics);
  if (!is_scenario(spec->scenario, path, diagnostics) || diagnostics.size() > before) return nullptr;
  const auto tree = std::make_shared<const config::Node>(spec->scenario);
  CaseStudy study = prepare_case(spec->name, tree, std::move(changes), *loading.preparer, diagnostics);
  if (diagnostics.size() > before) return nullptr;
  return std::make_unique<TraceGroup>(spec->name, spec->trace.string(), std::move(*trace), std::move(study),
                                      spec->scenario.place, std::move(limits));
}

}  // namespace moire::validate
