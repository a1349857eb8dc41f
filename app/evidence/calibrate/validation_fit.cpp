#include "app/evidence/calibrate/validation_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <set>

#include "app/evidence/calibrate/file_nodes.hpp"
#include "app/evidence/calibrate/fit.hpp"
#include "app/evidence/calibrate/library_nodes.hpp"
#include "app/evidence/validate/validation.hpp"
#include "app/study/prepare.hpp"
#include "app/study/progress.hpp"
#include "app/study/study.hpp"
#include "models/workload/libraries/collective_library.hpp"
#include "sim/config/suggest.hpp"
#include "sim/core/invariant.hpp"
#include "sim/core/power.hpp"

namespace moire::calibrate {

namespace {

using config::Diagnostics;
using config::in_quotes;
using config::Node;
using config::Override;
using validate::Case;
using validate::Fit;
using validate::FitKey;
using validate::Validation;

constexpr int fitted_digits = 4;
constexpr int evaluations_per_key = 40;
constexpr int searches = 2;         // searches of each fit; the second search starts where the first ended
constexpr double first_step = 0.5;  // in binary logarithms
constexpr std::array<double, 4> coarse_steps = {0.0625, 0.25, 4, 16};  // factors of the start
constexpr std::size_t named_cases = 8;                                 // largest number of cases that a source names

double binary_logarithm(double x) { return core::logarithm(x) / core::logarithm(2); }

double rounded(double value) { return std::stod(fmt::format("{:.{}g}", value, fitted_digits)); }

// Returns the value with its unit. Rounds a size to whole bytes, as a profile requires.
std::string text_of(double value, config::Dimension dimension) {
  return config::format_quantity(dimension == config::Dimension::bytes ? std::round(value) : value, dimension);
}

Override change_of_library(const std::string& path, Node value) {
  Override change;
  change.path = {"system", "library"};
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t dot = std::min(path.find('.', begin), path.size());
    change.path.push_back(path.substr(begin, dot - begin));
    begin = dot + 1;
  }
  change.text = "calibration of " + (path.empty() ? "the library" : path);
  change.place = value.place;
  change.value = std::move(value);
  return change;
}

class ValidationFitting {
 public:
  ValidationFitting(const Validation& validation, std::size_t at_once, Diagnostics& diagnostics)
      : validation_(validation), at_once_(at_once), diagnostics_(diagnostics) {
    for (const Fit& fit : validation.fits) evaluations_ += evaluations_of(fit);
  }

  // Reports the sections that the fits need and the profile lacks. Returns false if there are any.
  bool check_sections(Node& file, const std::filesystem::path& name) {
    const std::size_t before = diagnostics_.size();
    for (const Fit& fit : validation_.fits) {
      for (const FitKey& key : fit.keys) {
        const libraries::Path path = libraries::split_path(key.path);
        if (library_section(file, path.section) == nullptr)
          diagnostics_.error(key.place, fmt::format("{} has no '{}'", in_quotes(name.string()), path.section),
                             "add this section to the profile, or do not fit its values");
      }
    }
    return diagnostics_.size() == before;
  }

  // Carries out all fits. Writes the fitted values to `file`, and cases and changes to `found`. Throws Deadlocked if a
  // case deadlocks. Stops and reports an error if a key affects no case.
  void run(Node& file, ValidationFit& found) {
    std::map<std::string, std::vector<Case>> before;
    for (const Fit& fit : validation_.fits) before[fit.name] = simulated(fit);
    for (const Fit& fit : validation_.fits) {
      for (const FitKey& key : fit.keys) values_[key.path] = rounded(key.start);
    }
    for (const Fit& fit : validation_.fits) {
      if (!every_key_is_felt(fit)) return;
    }
    for (const Fit& fit : validation_.fits) {
      scan(fit);
      for (int number = 0; number < searches; ++number) search(fit);
    }
    for (const Fit& fit : validation_.fits) state(fit, before.at(fit.name), simulated(fit), file, found);
    found.simulations = simulations_;
  }

 private:
  static int evaluations_of(const Fit& fit) {
    return searches * evaluations_per_key * static_cast<int>(fit.keys.size());
  }

  // Returns the cases of a fit's groups, simulated with the current values.
  std::vector<Case> simulated(const Fit& fit) {
    progress_.run(std::min(++evaluation_, evaluations_), evaluations_, "fit " + fit.name);
    study::Preparer preparer;
    std::vector<validate::CaseStudy> changed;
    std::map<const validate::CaseStudy*, std::size_t> number;
    for (const std::size_t group : fit.groups) {
      for (const validate::CaseStudy* one : validation_.groups[group]->case_studies()) {
        std::vector<config::Override> changes = one->changes;
        for (const auto& [path, value] : values_) {
          const FitKey& key = key_of(path);
          Node text = scalar(text_of(value, key.dimension));
          text.place = key.place;
          changes.push_back(change_of_library(path, std::move(text)));
        }
        number[one] = changed.size();
        Diagnostics own;
        changed.push_back(validate::prepare_case(one->name, one->tree, std::move(changes), preparer, own));
        MOIRE_INVARIANT(own.ok(), "a checked case was refused: " + own.str());
      }
    }
    std::vector<const study::PreparedStudy*> studies;
    for (const validate::CaseStudy& one : changed) studies.push_back(&one.study);
    const std::vector<study::RunResult> results = study::run_all(
        studies, at_once_, [](std::size_t) {}, [this] { progress_.tick(); });
    simulations_ += static_cast<int>(results.size());

    validate::Running running;
    running.diagnostics = &diagnostics_;
    running.begin = [](const std::string&) {};
    running.tick = [] {};
    running.simulated = [&](const validate::CaseStudy& study) -> const study::RunResult& {
      return results[number.at(&study)];
    };
    std::vector<Case> cases;
    for (const std::size_t group : fit.groups) {
      validate::GroupResult result = validation_.groups[group]->run(running);
      for (const validate::Origin& origin : result.origins) tables_[fit.name].insert(origin.file);
      for (Case& one : result.cases) {
        one.curve = validation_.group_names[group];
        cases.push_back(std::move(one));
      }
    }
    return cases;
  }

  const FitKey& key_of(const std::string& path) const {
    for (const Fit& fit : validation_.fits) {
      for (const FitKey& key : fit.keys) {
        if (key.path == path) return key;
      }
    }
    throw std::logic_error("no fit has the key " + path);
  }

  // Reports keys that affect no case of the fit, because a search could end at any value of them. Returns false if
  // there are any.
  bool every_key_is_felt(const Fit& fit) {
    const std::vector<Case> here = simulated(fit);
    const std::size_t before = diagnostics_.size();
    for (const FitKey& key : fit.keys) {
      const double start = values_[key.path];
      values_[key.path] = std::min(2 * start, key.high);
      if (values_[key.path] <= start) values_[key.path] = std::max(start / 2, key.low);
      const std::vector<Case> there = simulated(fit);
      values_[key.path] = start;
      const bool same = std::equal(here.begin(), here.end(), there.begin(), there.end(),
                                   [](const Case& a, const Case& b) { return a.simulated == b.simulated; });
      if (same)
        diagnostics_.error(
            key.place, fmt::format("no case of fit {} changes with '{}'", in_quotes(fit.name), key.path),
            "fit it to cases that use it; an operator with its own library does not use the system's library");
    }
    return diagnostics_.size() == before;
  }

  // Returns the mean square of the deviations of simulated from measured values, with the current values of the keys.
  double loss(const Fit& fit) {
    const std::vector<Case> cases = simulated(fit);
    double sum = 0;
    for (const Case& one : cases) {
      const double d = deviation(one.simulated, one.measured.value_or(one.simulated));
      sum += d * d;
    }
    return sum / static_cast<double>(cases.size());
  }

  // Changes each value alone by coarse factors and keeps the best. Otherwise search() could miss a better minimum that
  // is far from the start.
  void scan(const Fit& fit) {
    double least = loss(fit);
    for (const FitKey& key : fit.keys) {
      const double start = values_.at(key.path);
      double best = start;
      for (const double factor : coarse_steps) {
        values_[key.path] = std::clamp(start * factor, key.low, key.high);
        const double now = loss(fit);
        if (now < least) {
          least = now;
          best = values_.at(key.path);
        }
      }
      values_[key.path] = best;
    }
  }

  // Searches all values of a fit together, from their current values. The variables of the search are binary logarithms
  // of value / start.
  void search(const Fit& fit) {
    std::vector<double> from;
    std::vector<Variable> variables;
    for (const FitKey& key : fit.keys) {
      const double start = values_.at(key.path);
      from.push_back(start);
      variables.push_back({0, binary_logarithm(key.low / start), binary_logarithm(key.high / start), first_step});
    }
    const auto value = [&](const std::vector<double>& x, std::size_t i) {
      return std::clamp(from[i] * core::power(2, x[i]), fit.keys[i].low, fit.keys[i].high);
    };
    const int evaluations = evaluations_per_key * static_cast<int>(fit.keys.size());
    const std::vector<double> best = minimise(variables, evaluations, [&](const std::vector<double>& x) {
      for (std::size_t i = 0; i < x.size(); ++i) values_[fit.keys[i].path] = value(x, i);
      return loss(fit);
    });
    for (std::size_t i = 0; i < best.size(); ++i) {
      const FitKey& key = fit.keys[i];
      values_[key.path] = std::clamp(rounded(value(best, i)), key.low, key.high);
    }
  }

  std::string source_text(const Fit& fit, const std::vector<Case>& cases, const Errors& errors) const {
    std::vector<std::string> tables;
    for (const std::string& file : tables_.at(fit.name))
      tables.push_back(std::filesystem::path(file).filename().string());
    std::vector<std::string> names;
    for (const Case& one : cases) names.push_back(one.name);
    if (names.size() > named_cases) {
      names.resize(named_cases);
      names.emplace_back("...");
    }
    return fmt::format("Moire calibration, {}.yaml: fitted to {} case{}{} ({}); rms {:.1f} %, worst {}",
                       validation_.name, cases.size(), cases.size() == 1 ? "" : "s",
                       tables.empty() ? "" : " of " + config::join(tables), config::join(names, "; "), errors.rms * 100,
                       signed_percent(errors.worst));
  }

  void state(const Fit& fit, const std::vector<Case>& before, const std::vector<Case>& after, Node& file,
             ValidationFit& found) {
    Errors errors;
    for (std::size_t i = 0; i < after.size(); ++i) {
      const Case& one = after[i];
      const double measured = one.measured.value_or(one.simulated);
      const double error = one.simulated / measured - 1;
      errors.rms += error * error;
      if (std::abs(error) > std::abs(errors.worst)) errors.worst = error;
      found.cases.push_back({fit.name, one.curve, one.name, one.unit, measured, before[i].simulated, one.simulated});
    }
    errors.rms = std::sqrt(errors.rms / static_cast<double>(after.size()));
    const std::string source = "fitted_" + fit.name;
    add_source(file, source, source_text(fit, after, errors));
    for (const FitKey& key : fit.keys) {
      const libraries::Path path = libraries::split_path(key.path);
      const std::string was = library_text(file, path);
      Node& node = library_entry(file, path);
      node = sourced(text_of(values_.at(key.path), key.dimension), source);
      node.entries.push_back({"residual", {}, scalar(fmt::format("{:.1f} %", errors.rms * 100))});
      found.changes.push_back(
          {key.path, was, library_text(file, path), source, after.size(), errors.rms, errors.worst});
      const double value = values_.at(key.path);
      if (value <= key.low || value >= key.high) found.at_bound.push_back(key.path);
    }
  }

  const Validation& validation_;
  const std::size_t at_once_;
  Diagnostics& diagnostics_;
  std::map<std::string, double> values_;  // current values by key, in base units; empty while the file's values apply
  std::map<std::string, std::set<std::string>> tables_;
  study::Progress progress_;
  std::size_t evaluation_ = 0, evaluations_ = 0;
  int simulations_ = 0;
};

}  // namespace

std::optional<ValidationFit> fit_to_validation(const std::filesystem::path& validation_file,
                                               const std::filesystem::path& library, std::size_t at_once,
                                               Diagnostics& diagnostics) {
  auto profile = config::load(library, {}, diagnostics);
  if (!profile || !config::parse<libraries::LibrarySpec>(*profile, diagnostics)) return std::nullopt;
  // Loads the profile without the files that it includes, so that a section in a separate file stays in that file.
  auto file = config::load(library, {}, diagnostics, {.includes = false});
  const auto validation =
      validate::load_validation(validation_file, {change_of_library("", std::move(*profile))}, diagnostics);
  if (!validation || !file || !diagnostics.ok()) return std::nullopt;
  if (validation->fits.empty()) {
    diagnostics.error({std::make_shared<config::Source>(config::Source{validation_file.string(), {}, true, {}}), 1, 1},
                      "there is no 'fit'", "write fit: [{name: ll, groups: [...], keys: {...}}]");
    return std::nullopt;
  }
  const Comments comments = comments_in(library, *file);
  ValidationFit found;
  ValidationFitting fitting(*validation, at_once, diagnostics);
  if (!fitting.check_sections(*file, library)) return std::nullopt;
  try {
    fitting.run(*file, found);
  } catch (const validate::Deadlocked& deadlocked) {
    found.deadlock = fmt::format("case {}\n{}", in_quotes(deadlocked.label), deadlocked.report);
    return found;
  }
  if (!diagnostics.ok()) return std::nullopt;
  found.yaml = in_layout(*file, comments);
  return found;
}

}  // namespace moire::calibrate
