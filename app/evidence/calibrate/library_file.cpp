#include "app/evidence/calibrate/library_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>

#include "app/evidence/calibrate/file_nodes.hpp"
#include "app/evidence/calibrate/fit.hpp"
#include "app/evidence/calibrate/library_nodes.hpp"
#include "app/evidence/microbench/library.hpp"

namespace moire::calibrate {

namespace {

using config::Node;
using libraries::LibrarySpec;

constexpr double us = 1e6;  // in ps, the base unit of times
constexpr int fitted_digits = 4;
constexpr int evaluations_per_parameter = 40;
// A search runs from several starts, because from one start it may miss a better minimum. The starts of times in
// groups() are those of the fastest library. These factors multiply them.
constexpr std::array<double, 3> starts = {1, 4, 16};
constexpr double no_worse = 1.001;  // searches that reach the same minimum end at slightly different losses

// A parameter of the profile that is fitted. Its search starts at `start`, regardless of the file's value.
struct Parameter {
  std::string section;  // path of its section; "" for the top level
  std::string key;
  config::Dimension dimension;
  double start;  // in base units
  double low;
  double high;
  std::function<double(LibrarySpec&)> get;
  std::function<void(LibrarySpec&, double)> set;

  std::string path() const { return section.empty() ? key : section + "." + key; }
  libraries::Path place() const { return {section, key}; }
};

Parameter time(std::string section, std::string key, double start_us, Time& (*of)(LibrarySpec&)) {
  return {std::move(section),
          std::move(key),
          config::Dimension::time,
          start_us * us,
          0,
          100 * us,
          [of](LibrarySpec& l) { return static_cast<double>(of(l).ps); },
          [of](LibrarySpec& l, double value) { of(l) = Time{std::llround(value)}; }};
}

Parameter ratio(std::string section, std::string key, double start, double low, double high,
                double& (*of)(LibrarySpec&)) {
  return {std::move(section),
          std::move(key),
          config::Dimension::ratio,
          start,
          low,
          high,
          [of](LibrarySpec& l) { return of(l); },
          [of](LibrarySpec& l, double value) { of(l) = value; }};
}

// Parameters that are fitted together to the same rows.
struct Group {
  std::string source;  // key of the source
  std::string about;
  std::vector<std::string> benchmarks;
  std::vector<Parameter> parameters;
};

const std::vector<Group>& groups() {
  static const std::vector<Group> all = {
      {"fitted",
       "messages between pairs",
       {"all_to_all_nccl"},
       {time("", "setup", 4, [](LibrarySpec& l) -> Time& { return l.setup; }),
        time("", "step_overhead", 2, [](LibrarySpec& l) -> Time& { return l.step_overhead; }),
        ratio("", "copy_cost", 1, 0.5, 10, [](LibrarySpec& l) -> double& { return l.copy_cost; }),
        ratio("", "link_cost", 1.1, 1, 10, [](LibrarySpec& l) -> double& { return l.link_cost; }),
        time("low_latency", "step_overhead", 0.2,
             [](LibrarySpec& l) -> Time& { return l.low_latency->step_overhead; })}},
      {"fitted_channels",
       "rings",
       {"all_gather_nccl", "all_reduce_nccl", "reduce_scatter_nccl"},
       {time("channels", "setup", 4, [](LibrarySpec& l) -> Time& { return l.channels->setup; }),
        ratio("channels", "copy_cost", 1, 0.5, 10, [](LibrarySpec& l) -> double& { return l.channels->copy_cost; }),
        ratio("channels", "link_cost", 1.1, 1, 10, [](LibrarySpec& l) -> double& { return l.channels->link_cost; }),
        time("channels.simple", "step_overhead", 2,
             [](LibrarySpec& l) -> Time& { return l.channels->simple.step_overhead; }),
        ratio("channels.simple", "step_spread", 0.5, 0, 1,
              [](LibrarySpec& l) -> double& { return l.channels->simple.step_spread; }),
        time("channels.ll", "batch_pause", 0.1, [](LibrarySpec& l) -> Time& { return l.channels->ll->batch_pause; }),
        time("channels.ll", "preparation", 0.2, [](LibrarySpec& l) -> Time& { return l.channels->ll->preparation; }),
        time("channels.ll128", "batch_pause", 0.1,
             [](LibrarySpec& l) -> Time& { return l.channels->ll128->batch_pause; }),
        time("channels.ll128", "preparation", 0.2,
             [](LibrarySpec& l) -> Time& { return l.channels->ll128->preparation; })}},
      {"fitted_algorithms",
       "steps of algorithms",
       {"msccl_copy", "msccl_steps", "msccl_dependency", "msccl_reduce", "msccl_ping", "msccl_stream", "msccl_kind",
        "msccl_sends", "msccl_exchange"},
       {time("channels", "setup", 2, [](LibrarySpec& l) -> Time& { return l.channels->setup; }),
        time("channels", "connection_setup", 0.5, [](LibrarySpec& l) -> Time& { return l.channels->connection_setup; }),
        ratio("channels", "copy_cost", 1, 0.5, 10, [](LibrarySpec& l) -> double& { return l.channels->copy_cost; }),
        ratio("channels", "link_cost", 1.1, 1, 10, [](LibrarySpec& l) -> double& { return l.channels->link_cost; }),
        time("channels", "local_overhead", 0.5, [](LibrarySpec& l) -> Time& { return l.channels->local_overhead; }),
        time("channels", "order_overhead", 0.3, [](LibrarySpec& l) -> Time& { return l.channels->order_overhead; }),
        time("channels.simple", "preparation", 0.5,
             [](LibrarySpec& l) -> Time& { return l.channels->simple.preparation; }),
        time("channels.simple", "step_overhead", 0.5,
             [](LibrarySpec& l) -> Time& { return l.channels->simple.step_overhead; }),
        time("channels.simple", "posting", 0.2,
             [](LibrarySpec& l) -> Time& {
               std::optional<Time>& posting = l.channels->simple.posting;
               return posting ? *posting : posting.emplace();
             }),
        time("channels.simple", "posting_beside", 0.5,
             [](LibrarySpec& l) -> Time& { return l.channels->simple.posting_beside; }),
        time("channels.simple", "empty_slice", 0.5,
             [](LibrarySpec& l) -> Time& { return l.channels->simple.empty_slice; }),
        time("channels.ll", "batch_pause", 0.1, [](LibrarySpec& l) -> Time& { return l.channels->ll->batch_pause; }),
        time("channels.ll", "preparation", 0.2, [](LibrarySpec& l) -> Time& { return l.channels->ll->preparation; }),
        time("channels.ll", "step_overhead", 0.2,
             [](LibrarySpec& l) -> Time& { return l.channels->ll->step_overhead; })}},
  };
  return all;
}

double rounded(double value) { return std::stod(fmt::format("{:.{}g}", value, fitted_digits)); }

class Fitting {
 public:
  Fitting(const measurements::Measurements& measurements, const libraries::EquippedSystem& system, LibrarySpec& library,
          LibraryCalibration& found)
      : measurements_(measurements), system_(system), library_(library), found_(found) {}

  void fit(const Group& group, Node& root, const std::string& gpu) {
    const Rows rows = rows_of(group);
    if (rows.empty()) return;
    std::vector<const Parameter*> free;
    for (const Parameter& parameter : group.parameters) {
      if (library_section(root, parameter.section) != nullptr) free.push_back(&parameter);
    }
    if (free.empty()) return;
    search(free, rows);
    state(group, free, rows, root, gpu);
  }

  using Rows = std::vector<const measurements::MeasuredValue*>;
  Rows rows_of(const Group& group) const {
    Rows rows;
    for (const measurements::MeasuredValue& value : measurements_.values) {
      if (value.value > 0 && value.metric == "time" &&
          std::find(group.benchmarks.begin(), group.benchmarks.end(), value.benchmark) != group.benchmarks.end())
        rows.push_back(&value);
    }
    return rows;
  }

 private:
  std::vector<double> simulated(const Rows& rows) {
    found_.simulations += static_cast<int>(rows.size());
    return simulate(rows, system_, microbench::with_library(library_));
  }

  using Free = std::vector<const Parameter*>;

  // First searches from several starts with the half of the rows that have the shortest measured times, because these
  // rows are also fast to simulate. Then searches from the best result with all rows.
  void search(const Free& free, const Rows& rows) {
    const Rows quick = quick_half(rows);
    std::vector<double> best;
    double least = HUGE_VAL;
    for (const double factor : starts) {
      for (const Parameter* parameter : free) {
        const bool is_time = parameter->dimension == config::Dimension::time;
        parameter->set(library_, std::min(parameter->high, parameter->start * (is_time ? factor : 1)));
      }
      // Fits each section, such as a protocol, separately first, because its parameters affect only few rows.
      std::map<std::string, Free> sections;
      for (const Parameter* parameter : free) sections[parameter->section].push_back(parameter);
      if (sections.size() > 1) {
        for (const auto& [section, own] : sections) fit_to(own, quick);
      }
      fit_to(free, quick);
      const double now = loss_of(deviations(quick), weights(quick));
      if (now * no_worse >= least) continue;
      least = now;
      best.clear();
      for (const Parameter* parameter : free) best.push_back(parameter->get(library_));
    }
    for (std::size_t i = 0; i < free.size(); ++i) free[i]->set(library_, best[i]);
    fit_to(free, rows);
    for (const Parameter* parameter : free) parameter->set(library_, rounded(parameter->get(library_)));
  }

  static Rows quick_half(const Rows& rows) {
    std::vector<double> times;
    for (const measurements::MeasuredValue* row : rows) times.push_back(row->value);
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    Rows quick;
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(quick),
                 [&](const measurements::MeasuredValue* row) { return row->value <= *middle; });
    return quick;
  }

  static std::vector<double> weights(const Rows& rows) {
    return std::vector<double>(rows.size(), 1 / static_cast<double>(rows.size()));
  }

  std::vector<double> deviations(const Rows& rows) {
    std::vector<double> out = simulated(rows);
    for (std::size_t i = 0; i < rows.size(); ++i) out[i] = deviation(out[i], rows[i]->value);
    return out;
  }

  void fit_to(const Free& free, const Rows& rows) {
    std::vector<Variable> variables;
    for (const Parameter* parameter : free)
      variables.push_back({parameter->get(library_), parameter->low, parameter->high});
    const auto put = [&](const std::vector<double>& values) {
      for (std::size_t i = 0; i < free.size(); ++i) free[i]->set(library_, values[i]);
    };
    const int evaluations = evaluations_per_parameter * static_cast<int>(free.size());
    put(fit_points(variables, weights(rows), evaluations, [&](const std::vector<double>& values) {
      put(values);
      return deviations(rows);
    }));
  }

  void state(const Group& group, const std::vector<const Parameter*>& free, const Rows& rows, Node& root,
             const std::string& gpu) {
    const std::vector<double> values = simulated(rows);
    const Errors errors = errors_of(rows, values);
    std::vector<std::string> counts;
    for (const std::string& benchmark : group.benchmarks) {
      const auto count = std::count_if(rows.begin(), rows.end(), [&](const measurements::MeasuredValue* row) {
        return row->benchmark == benchmark;
      });
      if (count > 0) counts.push_back(fmt::format("{} time ({} points)", benchmark, count));
    }
    add_source(root, group.source,
               fmt::format("{}: all that {} of the library add to the machine of {}; fitted to {}; rms {:.1f} %, worst "
                           "point {}",
                           provenance(measurements_, rows), group.about, gpu, config::join(counts), errors.rms * 100,
                           signed_percent(errors.worst)));
    for (const Parameter* parameter : free) {
      const std::string before = library_text(root, parameter->place());
      Node& node = library_entry(root, parameter->place());
      node = sourced(config::format_quantity(parameter->get(library_), parameter->dimension), group.source);
      node.entries.push_back({"residual", {}, scalar(fmt::format("{:.1f} %", errors.rms * 100))});
      found_.changes.push_back({parameter->path(), before, library_text(root, parameter->place()), group.source,
                                rows.size(), errors.rms, errors.worst});
    }
    for (const std::string& benchmark : group.benchmarks) {
      measurements::Curve curve{benchmark, rows.front()->metric, rows.front()->unit, {}};
      for (std::size_t i = 0; i < rows.size(); ++i) {
        if (rows[i]->benchmark == benchmark) curve.points.push_back({rows[i], values[i], 0});
      }
      if (!curve.points.empty()) found_.curves.push_back(std::move(curve));
    }
  }

  const measurements::Measurements& measurements_;
  const libraries::EquippedSystem& system_;
  LibrarySpec& library_;
  LibraryCalibration& found_;
};

}  // namespace

std::optional<LibraryCalibration> calibrate_library(const measurements::Measurements& measurements,
                                                    const std::string& file, const libraries::EquippedGpu& gpu,
                                                    config::Diagnostics& diagnostics, const Options& options) {
  auto root = config::load(file, {}, diagnostics);
  if (!root) return std::nullopt;
  auto library = config::parse<LibrarySpec>(*root, diagnostics);
  if (!library || !diagnostics.ok()) return std::nullopt;
  const Comments comments = comments_in(file, *root);

  const libraries::EquippedSystem system = measurements::measured_system(measurements, gpu, options.wiring);
  LibraryCalibration found;
  Fitting fitting(measurements, system, *library, found);
  measurements::Measurements own = measurements;
  own.values.clear();
  std::vector<std::string> names;
  for (const Group& group : groups()) {
    for (const measurements::MeasuredValue* row : fitting.rows_of(group)) own.values.push_back(*row);
    names.insert(names.end(), group.benchmarks.begin(), group.benchmarks.end());
  }
  if (own.values.empty()) {
    diagnostics.error({measurements.source, 1, 1}, fmt::format("there is no row of {}", config::join(names)),
                      "a library's profile is fitted to the rows of these benchmarks");
    return std::nullopt;
  }
  measurements::simulate_all(own, system, microbench::with_library(*library), diagnostics);
  if (!diagnostics.ok()) return std::nullopt;
  for (const Group& group : groups()) fitting.fit(group, *root, gpu.name);
  found.yaml = in_layout(*root, comments);
  return found;
}

}  // namespace moire::calibrate
