#include "sim/study/calibrate/library_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>

#include "models/microbench/library.hpp"
#include "sim/study/calibrate/file_nodes.hpp"
#include "sim/study/calibrate/fit.hpp"

namespace moire::study::calibrate {

namespace {

using config::Node;
using models::library::LibrarySpec;
using models::library::LowLatencySpec;

constexpr double us = 1e6;  // base units
constexpr int fitted_digits = 4;
constexpr int evaluations_per_parameter = 150;
constexpr int searches = 2;  // the second begins where the first ended
constexpr const char* benchmark = "nccl_all_to_all";

struct Parameter {
  std::string section;  // "" at the top
  std::string key;
  config::Dimension dimension;
  double start;  // in base units
  double low;
  double high;
  double (*get)(const LibrarySpec&);
  void (*set)(LibrarySpec&, double);

  std::string path() const { return section.empty() ? key : section + "." + key; }
};

Time whole(double picoseconds) { return Time{std::llround(picoseconds)}; }

// Where the search begins does not depend on what the file has.
const std::vector<Parameter>& parameters() {
  using config::Dimension;
  static const std::vector<Parameter> all = {
      {"", "setup", Dimension::time, 4 * us, 0, 100 * us,
       [](const LibrarySpec& l) { return static_cast<double>(l.setup.ps); },
       [](LibrarySpec& l, double value) { l.setup = whole(value); }},
      {"", "step_overhead", Dimension::time, 2 * us, 0, 100 * us,
       [](const LibrarySpec& l) { return static_cast<double>(l.step_overhead.ps); },
       [](LibrarySpec& l, double value) { l.step_overhead = whole(value); }},
      {"", "copy_cost", Dimension::ratio, 1, 0.5, 10, [](const LibrarySpec& l) { return l.copy_cost; },
       [](LibrarySpec& l, double value) { l.copy_cost = value; }},
      {"", "link_cost", Dimension::ratio, 1.1, 1, 10, [](const LibrarySpec& l) { return l.link_cost; },
       [](LibrarySpec& l, double value) { l.link_cost = value; }},
      {"low_latency", "step_overhead", Dimension::time, 0.2 * us, 0, 100 * us,
       [](const LibrarySpec& l) { return static_cast<double>(l.low_latency->step_overhead.ps); },
       [](LibrarySpec& l, double value) { l.low_latency->step_overhead = whole(value); }},
  };
  return all;
}

double rounded(double value) { return std::stod(fmt::format("{:.{}g}", value, fitted_digits)); }

std::string text_of(const Node& root, const Parameter& parameter) {
  const Node* map = parameter.section.empty() ? &root : root.find(parameter.section);
  const Node* node = map ? map->find(parameter.key) : nullptr;
  if (node && node->is_map()) node = node->find("value");
  return node && node->is_scalar() ? node->text : "";
}

// The entry of a parameter, made where the file leaves it out: among its neighbours as the spec orders them.
Node& entry_of(Node& root, const Parameter& parameter) {
  Node& map = parameter.section.empty() ? root : *root.find(parameter.section);
  if (Node* there = map.find(parameter.key)) return *there;
  const std::vector<std::string> order = parameter.section.empty() ? config::description<LibrarySpec>().keys()
                                                                   : config::description<LowLatencySpec>().keys();
  const auto rank = [&order](const std::string& key) { return std::find(order.begin(), order.end(), key); };
  const auto behind = std::find_if(map.entries.begin(), map.entries.end(), [&](const Node::Entry& entry) {
    return entry.key != "sources" && rank(entry.key) > rank(parameter.key);
  });
  return map.entries.insert(behind, {parameter.key, {}, Node{}})->value;
}

void add_source(Node& root, const std::string& key, const std::string& text) {
  Node* sources = root.find("sources");
  if (!sources) {
    Node map;
    map.kind = Node::Kind::map;
    sources = &root.entries.insert(root.entries.begin(), {"sources", {}, map})->value;
  }
  Node node = scalar(text);
  node.quoted = true;
  if (Node* there = sources->find(key)) {
    *there = node;
  } else {
    sources->entries.push_back({key, {}, node});
  }
}

}  // namespace

std::optional<LibraryCalibration> calibrate_library(const Measurements& measurements, const std::string& file,
                                                    const models::machine::GpuSpec& gpu,
                                                    config::Diagnostics& diagnostics, const Options& options) {
  auto root = config::load(file, {}, diagnostics);
  if (!root) return std::nullopt;
  auto library = config::parse<LibrarySpec>(*root, diagnostics);
  if (!library || !diagnostics.ok()) return std::nullopt;
  std::ifstream in(file, std::ios::binary);
  const Comments comments = comments_of(*root, std::string(std::istreambuf_iterator<char>(in), {}));

  const models::machine::SystemSpec system = measured_system(measurements, gpu, options.wiring);
  Measurements own = measurements;
  std::erase_if(own.values,
                [](const MeasuredValue& value) { return value.benchmark != benchmark || value.value <= 0; });
  if (own.values.empty()) {
    diagnostics.error({measurements.source, 1, 1}, fmt::format("no row of {}", benchmark),
                      "a library's profile is fitted to the rows of that benchmark");
    return std::nullopt;
  }
  check_simulations(own, system, models::microbench::with_library(*library), diagnostics);
  if (!diagnostics.ok()) return std::nullopt;

  std::vector<const MeasuredValue*> rows;
  for (const MeasuredValue& value : measurements.values) {
    if (value.benchmark == benchmark && value.value > 0) rows.push_back(&value);
  }
  LibraryCalibration found;
  const auto simulated = [&] {
    found.simulations += static_cast<int>(rows.size());
    return simulate(rows, system, models::microbench::with_library(*library));
  };
  std::vector<const Parameter*> free;
  for (const Parameter& parameter : parameters()) {
    if (parameter.section == "low_latency" && !library->low_latency) continue;
    free.push_back(&parameter);
    parameter.set(*library, parameter.start);
  }
  const auto loss = [&](const std::vector<double>& values) {
    for (std::size_t i = 0; i < free.size(); ++i) free[i]->set(*library, values[i]);
    const std::vector<double> now = simulated();
    double sum = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) sum += soft_square(deviation(now[i], rows[i]->value));
    return sum / static_cast<double>(rows.size());
  };
  for (int search = 0; search < searches; ++search) {
    std::vector<Variable> variables;
    for (const Parameter* parameter : free)
      variables.push_back({parameter->get(*library), parameter->low, parameter->high});
    const int evaluations = evaluations_per_parameter * static_cast<int>(free.size());
    const std::vector<double> best = minimise(variables, evaluations, loss);
    for (std::size_t i = 0; i < free.size(); ++i) free[i]->set(*library, rounded(best[i]));
  }

  const std::vector<double> values = simulated();
  const Errors errors = errors_of(rows, values);
  const std::string key = "fitted";
  add_source(
      *root, key,
      fmt::format("{}: all that the library adds to the machine of {}; fitted to {} time ({} points); rms {:.1f} "
                  "%, worst point {:+.1f} %",
                  provenance(measurements, rows), gpu.name, benchmark, rows.size(), errors.rms * 100,
                  errors.worst * 100));
  for (const Parameter* parameter : free) {
    const std::string before = text_of(*root, *parameter);
    Node& node = entry_of(*root, *parameter);
    node = sourced(config::format_quantity(parameter->get(*library), parameter->dimension), key);
    node.entries.push_back({"residual", {}, scalar(fmt::format("{:.1f} %", errors.rms * 100))});
    found.changes.push_back(
        {parameter->path(), before, text_of(*root, *parameter), key, rows.size(), errors.rms, errors.worst});
  }
  Curve curve{benchmark, rows.front()->metric, rows.front()->unit, {}};
  for (std::size_t i = 0; i < rows.size(); ++i) curve.points.push_back({rows[i], values[i], 0});
  found.curves.push_back(std::move(curve));
  found.yaml = in_layout(*root, comments);
  return found;
}

}  // namespace moire::study::calibrate
