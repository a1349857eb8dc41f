// Over 400 lines: reading, fitting and checking all work on one state, the hardware file as fitted so far.
#include "app/evidence/calibrate/calibrate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "app/evidence/calibrate/contradictions.hpp"
#include "app/evidence/calibrate/fit.hpp"
#include "app/evidence/calibrate/groups.hpp"
#include "app/evidence/calibrate/stages.hpp"
#include "sim/config/suggest.hpp"
#include "sim/core/invariant.hpp"

namespace moire::calibrate {

namespace {

using Rows = std::vector<const measurements::MeasuredValue*>;

constexpr double confirmed = 5e-5;  // a reading that differs by a smaller part confirms the file's value
constexpr int fitted_digits = 4;
constexpr int least_evaluations = 60;
constexpr int evaluations_per_parameter = 150;
// Points determine a parameter if changing it moves the simulated value of a point by more than this fraction.
constexpr double least_effect = 1e-3;
constexpr double far = 0.5;   // relative change that tests, before a search, if points depend on the parameter at all
constexpr double near = 0.1;  // relative change that tests, after a search, if points determine it or only bound it
constexpr double no_worse = 1.001;  // ratio up to which two losses count as equal
constexpr int halvings = 12;        // how often to halve the interval between the fitted and the original value

// Returns at most `at_most` rows, evenly spread, including the first and the last.
Rows thinned(const Rows& rows, std::size_t at_most) {
  if (rows.size() <= at_most) return rows;
  Rows out;
  for (std::size_t i = 0; i < at_most; ++i) out.push_back(rows[i * (rows.size() - 1) / (at_most - 1)]);
  return out;
}

double rounded(double value, int digits) { return std::stod(fmt::format("{:.{}g}", value, digits)); }

bool is_integer(const std::string& path) {
  return HardwareFile::field(path)->type.shape.form == config::Shape::Form::integer;
}

class Calibrator {
 public:
  Calibrator(const measurements::Measurements& measurements, HardwareFile hardware, const Options& options,
             const std::vector<microbench::Benchmark>& known)
      : measurements_(measurements),
        original_(hardware),
        hardware_(std::move(hardware)),
        options_(options),
        known_(known) {}

  std::optional<Calibration> run(config::Diagnostics& diagnostics) {
    read_off();
    find_contradictions(measurements_, hardware_, diagnostics);
    if (!diagnostics.ok()) return std::nullopt;
    state_name();
    state_groups();
    measurements::simulate_all(measurements_, system(gpu()), known_, diagnostics);
    if (!diagnostics.ok()) return std::nullopt;
    // Sets the starts of all searches, because results must not depend on the values that the hardware file had.
    for (const Stage& stage : stages()) {
      Points points;
      add_points(stage, points);
      if (!points.rows.empty()) start(stage);
    }
    std::vector<std::vector<bool>> told;
    for (int pass = 0; pass < options_.passes; ++pass) {
      told.clear();
      for (const Stage& stage : stages()) {
        told.push_back(fit(stage, pass == 0));
        for (const auto& names : joint_stages()) {
          if (names.back() == stage.name) refine(names, told);
        }
      }
    }
    for (std::size_t i = 0; i < stages().size(); ++i) state(stages()[i], told[i]);
    const auto gpu = hardware_.spec(diagnostics);
    if (!gpu || !diagnostics.ok()) return std::nullopt;
    std::vector<measurements::Curve> result = measurements::curves(measurements_, system(*gpu), known_);
    return Calibration{{std::move(changes_), std::move(kept_), std::move(result), simulations_}, std::move(hardware_)};
  }

 private:
  Context context() const { return {measurements_, hardware_}; }

  libraries::EquippedSystem system(const libraries::EquippedGpu& gpu) const {
    return measurements::measured_system(measurements_, gpu, options_.wiring);
  }

  libraries::EquippedGpu gpu() const {
    config::Diagnostics broken;
    auto gpu = hardware_.spec(broken);
    MOIRE_INVARIANT(gpu.has_value(), "a value inside its bounds breaks the spec:\n" + broken.str());
    return *gpu;
  }

  std::vector<double> simulated(const Rows& rows) {
    simulations_ += static_cast<int>(rows.size());
    return measurements::simulate(rows, system(gpu()), known_);
  }

  std::string provenance(const Rows& rows) const { return calibrate::provenance(measurements_, rows); }

  static std::string rows_text(const Rows& rows) {
    std::vector<std::pair<std::string, int>> counts;
    for (const measurements::MeasuredValue* row : rows) {
      const std::string name = row->benchmark + " " + row->metric;
      const auto it = std::find_if(counts.begin(), counts.end(), [&](const auto& c) { return c.first == name; });
      if (it == counts.end()) {
        counts.emplace_back(name, 1);
      } else {
        ++it->second;
      }
    }
    std::vector<std::string> words;
    for (const auto& [name, count] : counts) {
      words.push_back(fmt::format("{} ({} point{})", name, count, count == 1 ? "" : "s"));
    }
    return config::join(words);
  }

  // Changes the name in the file to the measured GPU's name if the file is that of another GPU, used as a template.
  void state_name() {
    const std::string was = hardware_.name();
    if (was.find(measurements_.gpu) != std::string::npos) return;
    hardware_.rename(measurements_.gpu, fmt::format("# {}: calibrated; values that were not measured are those of {}.",
                                                    measurements_.gpu, was));
    changes_.push_back({"name", was, measurements_.gpu, "header", 0, std::nullopt, std::nullopt});
  }

  void read_off() {
    struct Stated {
      std::vector<std::string> about;
      Rows rows;
    };
    std::map<std::string, Stated> stages;
    struct Known {
      const Reading* reading;
      Reading::Found found;
    };
    std::vector<Known> all;
    for (const Reading& reading : readings()) {
      auto found = reading.read(context());
      if (!found) {
        kept_.push_back(fmt::format("{}: not in the measurements", reading.path));
        continue;
      }
      Stated& stage = stages[reading.stage];
      stage.about.push_back(reading.about);
      stage.rows.insert(stage.rows.end(), found->rows.begin(), found->rows.end());
      all.push_back({&reading, std::move(*found)});
    }
    std::map<std::string, std::string> keys;
    for (const auto& [reading, found] : all) hardware_.release(reading->path);
    for (const auto& [stage, stated] : stages) {
      keys[stage] =
          hardware_.add_source("measured_" + stage, provenance(stated.rows) + ": " + config::join(stated.about));
    }
    for (const auto& [reading, found] : all) {
      const std::string& key = keys.at(reading->stage);
      // The driver rounds values: 26.562 GB/s confirms 26.5625 GB/s in the file.
      const double was = hardware_.number(reading->path).value_or(0);
      const double value = std::abs(found.value - was) <= confirmed * was ? was : found.value;
      hardware_.state(reading->path, value, reading->digits, key, std::nullopt);
      changes_.push_back({reading->path, original_.text(reading->path), hardware_.text(reading->path), key,
                          found.rows.size(), std::nullopt, std::nullopt});
    }
  }

  void state_groups() {
    const auto found = find_groups(measurements_, hardware_, options_.wiring, known_);
    if (!found) {
      kept_.push_back("compute.groups: not in the measurements");
      return;
    }
    std::string text = fmt::format("{}: SMs of each GPC", provenance(found->rows));
    if (found->placements > 0) {
      text += fmt::format(
          "; CUs that fill first are a beginning of the order in which blockers were placed; {} of {} "
          "counts of placed workgroups and clusters are exact",
          found->exact, found->placements);
    }
    for (const char* path : {"compute.groups", "compute.ports", "compute.port_queue"}) hardware_.release(path);
    const std::string key = hardware_.add_source("measured_groups", text);
    const std::string before = groups_text(original_);
    hardware_.state_groups(found->groups, key);
    changes_.push_back(
        {"compute.groups", before, groups_text(hardware_), key, found->rows.size(), std::nullopt, std::nullopt});
    state_ports(*found);
  }

  void state_ports(const Groups& found) {
    if (!found.ports) {
      kept_.push_back("compute.ports: not in the measurements");
      return;
    }
    const std::string key = hardware_.add_source(
        "measured_ports",
        fmt::format("{}: sm_share with most bytes in flight: ports share the memory alike, so an SM that gets more is "
                    "behind a smaller port (6 or fewer SMs, in twos); groups are ordered so that a port's SMs are "
                    "neighbours; port_queue is the most requested behind a port of 6 at which no SM is ahead",
                    provenance(found.ports->rows)));
    const std::string before = ports_text(original_);
    const std::string queue = original_.text("compute.port_queue");
    hardware_.state_ports(found.ports->ports, found.ports->queue, key);
    const std::size_t rows = found.ports->rows.size();
    changes_.push_back({"compute.ports", before, ports_text(hardware_), key, rows, std::nullopt, std::nullopt});
    changes_.push_back(
        {"compute.port_queue", queue, hardware_.text("compute.port_queue"), key, rows, std::nullopt, std::nullopt});
  }

  // Returns "18x6 6x4" for 18 ports of 6 SMs and 6 ports of 4 SMs.
  static std::string ports_text(const HardwareFile& hardware) {
    config::Diagnostics ignored;
    const auto gpu = hardware.spec(ignored);
    if (!gpu) return {};
    std::map<std::int64_t, int, std::greater<>> counts;
    for (const std::int64_t port : gpu->compute.ports) ++counts[port];
    std::vector<std::string> words;
    for (const auto& [size, count] : counts) words.push_back(fmt::format("{}x{}", count, size));
    return config::join(words, " ");
  }

  static std::string groups_text(const HardwareFile& hardware) {
    config::Diagnostics ignored;
    const auto gpu = hardware.spec(ignored);
    if (!gpu) return {};
    std::vector<std::string> words;
    for (const auto& group : gpu->compute.groups) {
      std::string word = group.count > 1 ? fmt::format("{}x{}", group.count, group.cus) : std::to_string(group.cus);
      if (group.filled_first > 0) word += fmt::format(" ({} first)", group.filled_first);
      words.push_back(word);
    }
    return config::join(words, " ");
  }

  // Returns the rows of a selection whose value is above 0 and that can be simulated.
  Rows rows_of(const Selection& selection) {
    Rows rows;
    for (const measurements::MeasuredValue* row : measurements_.all(selection.benchmark, selection.metric)) {
      if (row->value > 0 && (!selection.where || selection.where(row->parameters, context()))) rows.push_back(row);
    }
    const std::vector<double> values = simulated(rows);
    Rows out;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (!std::isnan(values[i])) out.push_back(rows[i]);
    }
    return out;
  }

  double high_of(const Parameter& parameter) const {
    if (parameter.below.empty()) return parameter.high;
    return std::min(parameter.high, hardware_.number(parameter.below).value_or(parameter.high));
  }

  struct Points {
    Rows rows;
    std::vector<double> weight;  // the weights of each selection add up to 1, however many points it has
  };

  void add_points(const Stage& stage, Points& points) {
    // A fit does not add a section, such as `power`, to a hardware file. One fitted value alone would leave the other
    // required keys of that section unset.
    if (!hardware_.has_section_of(stage.parameters.front().path)) return;
    for (const Selection& selection : stage.selections) {
      const Rows own = thinned(rows_of(selection), selection.at_most);
      points.rows.insert(points.rows.end(), own.begin(), own.end());
      points.weight.insert(points.weight.end(), own.size(), 1 / static_cast<double>(own.size()));
    }
  }

  std::vector<double> deviations(const Points& points) {
    std::vector<double> out = simulated(points.rows);
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = std::isnan(out[i]) ? 2 : deviation(out[i], points.rows[i]->value);
    return out;
  }
  double loss_of(const Points& points) { return calibrate::loss_of(deviations(points), points.weight); }

  // Repeats the fit of all parameters that the named stages have determined, now to all points of these stages at once.
  void refine(const std::vector<std::string>& names, const std::vector<std::vector<bool>>& told) {
    Points points;
    std::vector<const Parameter*> free;
    for (std::size_t i = 0; i < told.size(); ++i) {
      const Stage& stage = stages()[i];
      if (std::find(names.begin(), names.end(), stage.name) == names.end()) continue;
      add_points(stage, points);
      for (std::size_t p = 0; p < told[i].size(); ++p) {
        if (told[i][p]) free.push_back(&stage.parameters[p]);
      }
    }
    if (free.size() < 2) return;
    search(free, {1.0}, points);
    const auto loss = [&] { return loss_of(points); };
    for (const Parameter* parameter : free) beyond_bound(*parameter, points.rows, loss);
    round_off(free);
  }

  void round_off(const std::vector<const Parameter*>& parameters) {
    for (const Parameter* parameter : parameters) {
      if (is_integer(parameter->path)) continue;
      hardware_.set(parameter->path, rounded(*hardware_.number(parameter->path), fitted_digits));
    }
  }

  static bool refined_later(const Stage& stage) {
    return std::any_of(joint_stages().begin(), joint_stages().end(), [&](const std::vector<std::string>& names) {
      return std::find(names.begin(), names.end(), stage.name) != names.end();
    });
  }

  // Fits the parameters of a stage. Returns for each parameter true if the points determine it.
  std::vector<bool> fit(const Stage& stage, bool first) {
    std::vector<bool> told(stage.parameters.size(), false);
    Points points;
    add_points(stage, points);
    const Rows& rows = points.rows;
    if (rows.empty()) return told;
    for (const Parameter& parameter : stage.parameters) {
      if (!hardware_.number(parameter.path)) start(parameter);  // an earlier pass removed the value
    }
    const std::vector<double> reference = simulated(rows);
    for (std::size_t i = 0; i < told.size(); ++i) told[i] = has_effect(stage.parameters[i], rows, reference, far);
    std::vector<const Parameter*> free;
    for (std::size_t i = 0; i < told.size(); ++i) {
      if (told[i]) free.push_back(&stage.parameters[i]);
    }
    const auto loss = [&] { return loss_of(points); };
    if (free.size() == 1 && is_integer(free.front()->path)) {
      try_all(*free.front(), loss);
    } else if (!free.empty() && (first || !refined_later(stage))) {
      // The first pass may need several starts. Later passes start near the right minimum.
      search(free, first && stage.valleys ? std::vector<double>{1.0, 0.5, 2.0} : std::vector<double>{1.0}, points);
    }
    for (std::size_t i = 0; i < told.size(); ++i) {
      if (told[i]) told[i] = beyond_bound(stage.parameters[i], rows, loss);
      if (!told[i]) hardware_.take_over(stage.parameters[i].path, original_);
    }
    round_off(free);
    return told;
  }

  void start(const Stage& stage) {
    for (const Parameter& parameter : stage.parameters) start(parameter);
  }

  void start(const Parameter& parameter) {
    const auto value = hardware_.number(parameter.path);
    const auto guess = parameter.start ? parameter.start(context()) : std::nullopt;
    const double high = high_of(parameter);
    hardware_.set(parameter.path,
                  std::clamp(guess.value_or(value.value_or((parameter.low + high) / 2)), parameter.low, high));
  }

  // If small changes of a parameter have no effect, the points give only a bound of it. In this case, the function
  // sets the value that is nearest to the original file's value and fits equally well. Returns false if the original
  // value itself fits equally well, otherwise true.
  template <class Loss>
  bool beyond_bound(const Parameter& parameter, const Rows& rows, const Loss& loss) {
    const auto own = original_.number(parameter.path);
    if (!own || is_integer(parameter.path) || has_effect(parameter, rows, simulated(rows), near)) return true;
    double good = *hardware_.number(parameter.path);
    double bad = *own;
    const double least = loss();
    const auto fits = [&](double value) {
      hardware_.set(parameter.path, value);
      return loss() <= least * no_worse;
    };
    if (fits(bad)) return false;
    for (int halving = 0; halving < halvings; ++halving) {
      const double middle = (good + bad) / 2;
      (fits(middle) ? good : bad) = middle;
    }
    hardware_.set(parameter.path, good);
    return true;
  }

  // True if a relative `change` of the parameter, up or down, moves the simulated value of some point away from its
  // value with the present parameters (`reference`).
  bool has_effect(const Parameter& parameter, const Rows& rows, const std::vector<double>& reference, double change) {
    const std::string& path = parameter.path;
    const double value = *hardware_.number(path);
    std::vector<double> tried;
    if (is_integer(path)) {
      tried = {parameter.low, parameter.low + 1};
    } else {
      tried = {value * (1 - change), value > 0 ? value * (1 + change) : parameter.high * change};
    }
    const bool effect = std::any_of(tried.begin(), tried.end(), [&](double other) {
      hardware_.set(path, std::clamp(other, parameter.low, high_of(parameter)));
      const std::vector<double> values = simulated(rows);
      return !std::equal(values.begin(), values.end(), reference.begin(),
                         [](double one, double two) { return !(std::abs(deviation(one, two)) > least_effect); });
    });
    hardware_.set(path, value);
    return effect;
  }

  template <class Loss>
  void try_all(const Parameter& parameter, const Loss& loss) {
    double best = parameter.low;
    double least = HUGE_VAL;
    for (double value = parameter.low; value <= high_of(parameter); ++value) {
      hardware_.set(parameter.path, value);
      if (const double own = loss(); own < least) {
        least = own;
        best = value;
      }
    }
    hardware_.set(parameter.path, best);
  }

  using Parameters = std::vector<const Parameter*>;

  std::vector<Variable> variables_of(const Parameters& free) const {
    std::vector<Variable> variables;
    for (const Parameter* parameter : free)
      variables.push_back({*hardware_.number(parameter->path), parameter->low, high_of(*parameter)});
    return variables;
  }

  void put(const Parameters& free, const std::vector<double>& values) {
    for (std::size_t i = 0; i < free.size(); ++i) hardware_.set(free[i]->path, values[i]);
  }

  Deviations deviations_at(const Parameters& free, const Points& points) {
    return [&](const std::vector<double>& values) {
      put(free, values);
      return deviations(points);
    };
  }

  void search(const Parameters& free, const std::vector<double>& starts, const Points& points) {
    const std::vector<Variable> variables = variables_of(free);
    const int evaluations = least_evaluations + evaluations_per_parameter * static_cast<int>(free.size());
    const Deviations at = deviations_at(free, points);
    std::vector<double> best;
    double least = HUGE_VAL;
    for (const double factor : starts) {
      std::vector<Variable> from = variables;
      for (Variable& variable : from) variable.start *= factor;
      const std::vector<double> found = fit_points(from, points.weight, evaluations, at);
      // Searches that reach the same minimum end at slightly different values, so a tiny gain does not count.
      if (const double own = calibrate::loss_of(at(found), points.weight); own * no_worse < least) {
        least = own;
        best = found;
      }
    }
    put(free, best);
  }

  // Writes the results of a stage into the file. Computes the errors of all its points with the final values of all
  // parameters.
  void state(const Stage& stage, const std::vector<bool>& told) {
    Rows rows;
    for (const Selection& selection : stage.selections) {
      const Rows own = rows_of(selection);
      rows.insert(rows.end(), own.begin(), own.end());
    }
    for (std::size_t i = 0; i < told.size(); ++i) {
      if (told[i]) continue;
      hardware_.take_over(stage.parameters[i].path, original_);
      kept_.push_back(fmt::format("{}: {}", stage.parameters[i].path,
                                  rows.empty() ? "not in the measurements" : "its points do not determine it"));
    }
    if (std::none_of(told.begin(), told.end(), [](bool t) { return t; })) return;
    const Errors errors = errors_of(rows, simulated(rows));
    for (std::size_t i = 0; i < told.size(); ++i) {
      if (told[i]) hardware_.release(stage.parameters[i].path);
    }
    const std::string key =
        hardware_.add_source("fitted_" + stage.name,
                             fmt::format("{}: {}; fitted to {}; rms {:.1f} %, worst point {}", provenance(rows),
                                         stage.about, rows_text(rows), errors.rms * 100, signed_percent(errors.worst)));
    for (std::size_t i = 0; i < told.size(); ++i) {
      if (!told[i]) continue;
      const std::string& path = stage.parameters[i].path;
      hardware_.state(path, *hardware_.number(path), fitted_digits, key, errors.rms);
      changes_.push_back(
          {path, original_.text(path), hardware_.text(path), key, rows.size(), errors.rms, errors.worst});
    }
  }

  const measurements::Measurements& measurements_;
  const HardwareFile original_;
  HardwareFile hardware_;
  const Options options_;
  const std::vector<microbench::Benchmark>& known_;
  std::vector<Change> changes_;
  std::vector<std::string> kept_;
  int simulations_ = 0;
};

}  // namespace

std::string provenance(const measurements::Measurements& measurements,
                       const std::vector<const measurements::MeasuredValue*>& rows) {
  std::set<std::size_t> files;
  for (const measurements::MeasuredValue* row : rows) files.insert(row->file);
  std::vector<std::string> words;
  for (const std::size_t file : files) {
    const measurements::Collection collection = measurements.collection(file);
    words.push_back(fmt::format("{}x {}, {}, driver {}, {}", collection.gpus, measurements.gpu,
                                collection.date.substr(0, 10), collection.driver,
                                std::filesystem::path(collection.source->name).filename().string()));
  }
  return "Moire calibration, " + config::join(words, " and ");
}

std::string signed_percent(double part) { return fmt::format("{:+.1f} %", std::round(part * 1000) / 10 + 0.0); }

Errors errors_of(const Rows& rows, const std::vector<double>& simulated) {
  Errors errors;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double error = simulated[i] / rows[i]->value - 1;
    errors.rms += error * error;
    if (std::abs(error) > std::abs(errors.worst)) errors.worst = error;
  }
  errors.rms = std::sqrt(errors.rms / static_cast<double>(rows.size()));
  return errors;
}

std::optional<Calibration> calibrate(const measurements::Measurements& measurements, HardwareFile hardware,
                                     config::Diagnostics& diagnostics, const Options& options,
                                     const std::vector<microbench::Benchmark>& known) {
  return Calibrator(measurements, std::move(hardware), options, known).run(diagnostics);
}

}  // namespace moire::calibrate
