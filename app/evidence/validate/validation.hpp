// A validation file: measured cases, their simulation, and limits on the errors.
//
//   description: Fused and bulk-synchronous embedding + All-to-All on four H200
//   expected: expected.csv                     # predictions made before the measurement
//   shared: {grid: {scenario: ..., set: {...}}}  # keys that groups share, see shared.hpp
//   groups:
//     - {name: fused, like: grid, measured: ..., limits: {case: 15 %, mean: 6 %}}         # see scenario_group.hpp
//   differences:                               # how much smaller the cases of one group are than those of another
//     - {name: reduction by fusion, of: fused, against: bulk, limits: {mean: 4 points}}
//   effects: [...]                             # effects of a choice within one group, see effects.hpp
//   speedups: [...]                            # speed-ups over a measured alternative, see speedups.hpp
//   fit: [...]                                 # what `moire calibrate` fits to which groups, see fit.hpp
#pragma once

#include <memory>

#include "app/evidence/validate/effects.hpp"
#include "app/evidence/validate/fit.hpp"
#include "app/evidence/validate/group.hpp"
#include "app/evidence/validate/limits.hpp"
#include "app/evidence/validate/speedups.hpp"

namespace moire::validate {

struct DifferenceSpec {
  std::string name;
  std::string of;
  std::string against;
  std::optional<std::string> less;
  LimitsSpec limits;
  static void describe(config::Describer<DifferenceSpec>& d);
};

struct ValidationSpec {
  std::string description;
  std::vector<std::pair<std::string, config::Node>> shared;
  std::vector<config::Node> groups;
  std::vector<DifferenceSpec> differences;
  std::vector<EffectSpec> effects;
  std::vector<SpeedupSpec> speedups;
  std::vector<config::Node> fit;
  std::optional<std::filesystem::path> expected;
  static void describe(config::Describer<ValidationSpec>& d);
};

// A row of the table that `expected` names: a value that was predicted before the measurement.
struct Expectation {
  std::string group, name, metric, unit;
  double value = 0;
};

struct Validation {
  struct Difference {
    std::string name;
    std::size_t of = 0, against = 0;  // indices in `groups`
    std::optional<std::size_t> less;  // index of the group whose values are subtracted from the values of both groups
    Limits limits;
  };
  std::string name;  // name of the file, without folder and extension
  std::string description;
  std::vector<std::string> group_names;
  std::vector<std::unique_ptr<Group>> groups;
  std::vector<Difference> differences;
  std::vector<Effect> effects;
  std::vector<Speedup> speedups;
  std::vector<Fit> fits;
  std::vector<Expectation> expected;
  std::string expected_file;

  std::size_t cases() const;
};

// Adds all keys of validation files to the catalogue that `moire explain` prints.
void describe(config::Catalogue& catalogue);

// Returns a validation file. Changes of system.* and program.* in `sets` apply to every scenario, other changes to the
// file itself. With `predict`, measured values may be missing. Returns nothing and reports errors if anything is wrong.
std::optional<Validation> load_validation(const std::filesystem::path& file, const std::vector<std::string>& sets,
                                          bool predict, study::Preparer& preparer, config::Diagnostics& diagnostics);
// Returns a validation file. `changes` apply to every scenario, after the changes of the file's `set`. Returns nothing
// and reports errors if anything is wrong.
std::optional<Validation> load_validation(const std::filesystem::path& file,
                                          const std::vector<config::Override>& changes,
                                          config::Diagnostics& diagnostics);

// Simulates all cases and returns their errors. Shows the progress on a terminal. At most `at_once` cases of scenarios
// run in parallel. If `diagnostics` has errors afterwards, the result is invalid.
ValidationResult run_validation(const Validation& validation, std::size_t at_once, config::Diagnostics& diagnostics);

}  // namespace moire::validate
