#include "app/evidence/validate/measurements_group.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/evidence/measurements/curves.hpp"
#include "app/evidence/measurements/measurements.hpp"
#include "app/evidence/microbench/library.hpp"
#include "app/evidence/validate/curve_figures.hpp"
#include "app/evidence/validate/shared.hpp"
#include "app/study/prepare.hpp"
#include "models/workload/libraries/software.hpp"
#include "sim/config/suggest.hpp"

namespace moire::validate {

namespace {

using config::in_quotes;

std::string name_of(const measurements::MeasuredValue& value) {
  const std::string parameters = measurements::to_string(value.parameters);
  return parameters.empty() ? value.benchmark : value.benchmark + " " + parameters;
}

// Returns the unit of a value, or "" if the file has "1", which means that the value has no unit.
std::string unit_of_case(const measurements::MeasuredValue& value) { return value.unit == "1" ? "" : value.unit; }

class MeasurementsGroup : public Group {
 public:
  // `simulated` has the simulated value of each measured value.
  MeasurementsGroup(std::string name, Limits limits, measurements::Measurements measurements,
                    std::vector<double> simulated)
      : name_(std::move(name)),
        limits_(limits),
        measurements_(std::move(measurements)),
        simulated_(std::move(simulated)) {
    for (const measurements::MeasuredValue& value : measurements_.values) {
      if (benchmarks_.empty() || benchmarks_.back().front()->benchmark != value.benchmark) benchmarks_.emplace_back();
      benchmarks_.back().push_back(&value);
    }
  }

  std::size_t runs() const override { return benchmarks_.size(); }
  std::size_t cases() const override { return measurements_.values.size(); }

  GroupResult run(const Running& running) const override {
    GroupResult result;
    result.name = name_;
    result.kind = "measurements";
    result.about = fmt::format("{} microbenchmark{} of {} {}", benchmarks_.size(), benchmarks_.size() == 1 ? "" : "s",
                               measurements_.gpus, measurements_.gpu);
    result.origins.push_back({measurements_.source->name, measurements_.header});
    std::size_t next = 0;
    for (const auto& values : benchmarks_) {
      running.begin(values.front()->benchmark);
      for (const measurements::MeasuredValue* value : values) add(*value, simulated_[next++], result);
    }
    result.summarise();
    apply(limits_, result);
    add_figures(result);
    return result;
  }

 private:
  static void add(const measurements::MeasuredValue& value, double simulated, GroupResult& result) {
    // Leaves out values that the model cannot predict. Also leaves out a value that is 0 both on the GPU and in the
    // simulation, because it says nothing about the model. An example is the bandwidth of background readers if there
    // are none.
    if (std::isnan(simulated) || (value.value == 0 && simulated == 0)) {
      result.left_out.push_back(name_of(value) + " " + value.metric);
      return;
    }
    Case one;
    one.name = name_of(value);
    one.curve = value.benchmark + " " + value.metric;
    one.metric = value.metric;
    one.unit = unit_of_case(value);
    one.measured = value.value;
    one.low = value.low;
    one.high = value.high;
    one.simulated = simulated;
    result.cases.push_back(std::move(one));
  }

  void add_figures(GroupResult& result) const {
    std::size_t next = 0;  // index of the next case; cases are in the order of values
    std::map<std::string, std::vector<CurveValue>> values;
    std::vector<const measurements::MeasuredValue*> firsts;
    for (const auto& benchmark : benchmarks_) {
      for (const measurements::MeasuredValue* value : benchmark) {
        if (next == result.cases.size()) break;
        const Case& one = result.cases[next];
        if (one.name != name_of(*value) || one.metric != value->metric) continue;  // the value was left out
        ++next;
        auto& own = values[one.curve];
        if (own.empty()) firsts.push_back(value);
        own.push_back({value->parameters, value->value, value->low, value->high, one.simulated});
      }
    }
    for (const measurements::MeasuredValue* first : firsts) {
      const auto& own = values.at(first->benchmark + " " + first->metric);
      for (report::Figure& figure : curve_figures(first->benchmark, first->metric, first->unit, own))
        result.figures.push_back(std::move(figure));
    }
  }

  const std::string name_;
  const Limits limits_;
  const measurements::Measurements measurements_;
  const std::vector<double> simulated_;                                      // of each value of measurements_
  std::vector<std::vector<const measurements::MeasuredValue*>> benchmarks_;  // values of each benchmark
};

// Returns the rows of all requested benchmarks that can be simulated. Rows of a benchmark are adjacent; benchmarks and
// rows are in the order of the file.
std::vector<measurements::MeasuredValue> choose(const MeasurementsGroupSpec& spec, const config::Node& node,
                                                const measurements::Measurements& measurements,
                                                const std::vector<microbench::Benchmark>& known,
                                                config::Diagnostics& diagnostics) {
  std::vector<std::string> there;
  for (const measurements::MeasuredValue& value : measurements.values)
    if (std::find(there.begin(), there.end(), value.benchmark) == there.end()) there.push_back(value.benchmark);
  const auto check = [&](const char* key, const std::vector<std::string>& names) {
    const config::Node* list = node.find(key);
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (std::find(there.begin(), there.end(), names[i]) != there.end()) continue;
      diagnostics.error(list->items[i].place,
                        fmt::format("no benchmark {} in {}", in_quotes(names[i]), in_quotes(measurements.source->name)),
                        config::suggestion(names[i], there, "benchmarks there"));
    }
  };
  check("benchmarks", spec.benchmarks);
  check("without", spec.without);
  const auto in = [](const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  std::vector<measurements::MeasuredValue> chosen;
  for (const std::string& name : there) {
    const auto benchmark =
        std::find_if(known.begin(), known.end(), [&](const microbench::Benchmark& b) { return b.name == name; });
    if (benchmark == known.end() || !benchmark->run || in(spec.without, name)) continue;
    if (!spec.benchmarks.empty() && !in(spec.benchmarks, name)) continue;
    for (const measurements::MeasuredValue& value : measurements.values)
      if (value.benchmark == name) chosen.push_back(value);
  }
  if (chosen.empty())
    diagnostics.error(
        node.place, "no row of the measurements can be simulated",
        "name benchmarks that docs/reference/measurements.md lists; benchmarks of a library also need 'library'");
  return chosen;
}

}  // namespace

void MeasurementsGroupSpec::describe(config::Describer<MeasurementsGroupSpec>& d) {
  d.component("measurements_group",
              "Microbenchmarks of a measurements file, compared with the same benchmarks on a simulated machine.");
  d.field("name", &MeasurementsGroupSpec::name, "Name of the group").example("microbenchmarks");
  d.field("like", &MeasurementsGroupSpec::like, "Part of `shared` whose keys the group has unless it sets them itself")
      .example("grid")
      .optional();
  d.field("measurements", &MeasurementsGroupSpec::measurements,
          "The file that validation/collect wrote, *.measurements.csv")
      .example("../traces/h200x4/h200x4.measurements.csv")
      .exists();
  d.field("system", &MeasurementsGroupSpec::system, "The machine; one of its nodes runs the benchmarks")
      .example("../configs/systems/4xh200.yaml");
  d.field("library", &MeasurementsGroupSpec::library,
          "The collective library for benchmarks of a library (nccl_all_to_all, all_gather_nccl, ...)")
      .example("../configs/libraries/nccl.yaml")
      .optional();
  d.field("benchmarks", &MeasurementsGroupSpec::benchmarks, "The benchmarks to run; default: all that can be simulated")
      .example("[gather, hbm_read]")
      .optional();
  d.field("without", &MeasurementsGroupSpec::without, "Benchmarks of the file that are not run")
      .example("[loaded_fence]")
      .optional();
  d.field("limits", &MeasurementsGroupSpec::limits, "Limits on the errors")
      .example("{curve: 5 %, case: 15 %}")
      .optional();
}

std::unique_ptr<Group> read_measurements_group(const config::Node& node, const std::string& path,
                                               const Loading& loading, config::Diagnostics& diagnostics) {
  const std::size_t before = diagnostics.size();
  const auto spec = parse_known<MeasurementsGroupSpec>(node, diagnostics, path);
  if (!spec) return nullptr;
  const auto limits = read_limits(spec->limits, "%", diagnostics);
  auto measurements = measurements::load_measurements(spec->measurements, diagnostics);
  config::Node tree = node;
  for (const config::Override& change : loading.sets)
    if (change.path.front() == "system") config::apply(change, tree, diagnostics);
  const config::Node* system_node = tree.find("system");
  const auto system = libraries::read_system(*system_node, diagnostics, nullptr, path + ".system");
  if (system) study::check_system(*system, *system_node, diagnostics);
  std::vector<microbench::Benchmark> known =
      spec->library ? microbench::with_library(*spec->library) : microbench::all();
  if (measurements) measurements->values = choose(*spec, node, *measurements, known, diagnostics);
  if (!system || !measurements || !limits || diagnostics.size() > before) return nullptr;
  // Only a simulation shows whether the system can run a benchmark with its parameters.
  std::vector<double> simulated = measurements::simulate_all(*measurements, *system, known, diagnostics);
  if (diagnostics.size() > before) return nullptr;
  return std::make_unique<MeasurementsGroup>(spec->name, *limits, std::move(*measurements), std::move(simulated));
}

}  // namespace moire::validate
