// A scenario file describes a system, a program, and how to vary them.
//
//   description: Fused against bulk-synchronous
//   system: ../systems/4xh200.yaml
//   program: {queues: {main: [...]}}
//   variants:                                  # columns of the comparison
//     bulk_synchronous: {}
//     fused: {program.queues.main.0.embedding_all_to_all.schedule: fused}
//   sweep:                                     # axes; their points are crossed
//     system.nodes: [2, 128]                   # an axis of values of one key
//     size:                                    # an axis of named points, each a set of changes
//       small: {program.queues.main.0.embedding_all_to_all.dim: 64}
//       large: {program.queues.main.0.embedding_all_to_all.dim: 256}
//   compare: {to: bulk_synchronous, summary: [mean, max]}
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sim/config/config.hpp"

namespace moire::study {

enum class SummaryKind { mean, max };

// The ideal time with which a run of overlapping queues is compared. none: no comparison. overlap: the time that the
// longest queue takes when it runs alone.
enum class Ideal { none, overlap };

struct CompareSpec {
  std::optional<std::string> to;
  std::optional<std::string> compute_only;
  std::vector<SummaryKind> summary;
  std::optional<Ideal> ideal;  // absent: overlap if there are two queues
  std::optional<bool> blame;   // absent: true if `ideal` is overlap
  bool unperturbed = false;    // compare runs with `perturb` to the same runs without it
  bool spread = false;         // also simulate runs with the fastest and the slowest GPUs of the type
  static void describe(config::Describer<CompareSpec>& d);
};

// The top-level keys of a scenario file. Variants and axes can change `system`, `program`, `perturb` and
// `operating_point`, so these nodes are parsed for each run, after its changes.
struct ScenarioSpec {
  std::string description;
  config::Node system;
  config::Node program;
  config::Node perturb;          // read by models/hardware/perturb
  config::Node operating_point;  // read by models/hardware/power
  config::Node variants;
  config::Node sweep;
  std::optional<CompareSpec> compare;
  config::Node advise;  // read by `moire advise`
  static void describe(config::Describer<ScenarioSpec>& d);
};

// A named set of changes: a variant, or one point of an axis.
struct Choice {
  std::string name;
  std::vector<config::Override> changes;
};

struct Axis {
  std::string name;
  std::vector<Choice> points;
};

struct Scenario {
  std::string name;  // of the file, without folder and extension
  std::string description;
  config::Node tree;
  // The changes by --set. `tree` has them already. They are applied again if a choice replaces a node above their path.
  std::vector<config::Override> sets;
  std::vector<Axis> axes;
  std::vector<Choice> variants;
  std::optional<std::size_t> compare_to;    // index of a variant
  std::optional<std::size_t> compute_only;  // index of the variant that computes without communicating
  std::vector<SummaryKind> summary;
  std::optional<Ideal> ideal;
  bool blame = false;
  bool unperturbed = false;
  std::optional<config::Place> spread;  // where the scenario asks for the spread
  config::Place ideal_place;

  std::size_t points() const;
  std::size_t runs() const;  // number of points x number of variants, or x 1 without variants
};

// One simulation of a scenario.
struct Run {
  std::size_t point = 0;
  std::optional<std::size_t> variant;
  std::vector<const Choice*> choices;  // one for each axis, then the variant

  std::string label() const;  // returns the names of the choices, such as "128, fused"; "" if there are none
};

// Returns the point, the variant and the choices of a run. Runs are numbered from 0: from one run to the next the
// variant changes first, then the point of the last axis.
Run run_of(const Scenario& scenario, std::size_t number);
std::string label_of_point(const Scenario& scenario, std::size_t point);

// Applies a change to a scenario's tree. Returns false and reports an error if the path does not fit the tree. The path
// to a queue's operations and attributes is the same whether the queue is written as a list or as a map.
bool apply_change(const config::Override& change, config::Node& tree, config::Diagnostics& diagnostics);

// True if the path is below `system`, `program`, `perturb` or `operating_point`, which define a run.
bool varies_runs(const config::Override& set);
// True if `change` replaces a node that contains the path of `set`, so that `set` must be applied again.
bool replaces(const config::Override& change, const config::Override& set);

// Reports an error if an axis or a variant overrides a value that --set or an earlier axis has set. Rows of the results
// are labelled with the earlier value, so their labels would be wrong.
void check_overwrites(const Scenario& scenario, config::Diagnostics& diagnostics);

// Returns the scenario of a loaded tree to which `sets` have been applied. If there are errors, reports them and
// returns what could be read, so that the caller can also find errors in the runs.
Scenario read_scenario(config::Node tree, std::vector<config::Override> sets, config::Diagnostics& diagnostics);

// Loads a scenario file and applies `sets`, the texts of --set. Returns nothing if the file could not be read.
std::optional<Scenario> load_scenario(const std::filesystem::path& file, const std::vector<std::string>& sets,
                                      config::Diagnostics& diagnostics);
// The same for a file that is already loaded as `tree`; the scenario is named after `file`.
Scenario scenario_of(const std::filesystem::path& file, config::Node tree, std::vector<config::Override> sets,
                     config::Diagnostics& diagnostics);

}  // namespace moire::study
