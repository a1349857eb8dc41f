// A scenario file: a system, a program, and how to vary them.
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

// What queues that run beside each other are held against. overlap: all of them at full speed, the time of the longest.
enum class Ideal { none, overlap };

struct CompareSpec {
  std::optional<std::string> to;
  std::optional<std::string> compute_only;
  std::vector<SummaryKind> summary;
  std::optional<Ideal> ideal;  // absent: overlap where there are two queues
  std::optional<bool> blame;   // absent: where `ideal` says overlap
  bool unperturbed = false;    // runs of `perturb` are held against the same without it
  static void describe(config::Describer<CompareSpec>& d);
};

// The keys of the file. What variants and axes change is parsed once per run, after the changes.
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
  std::string name;  // the file's, without folder and extension
  std::string description;
  config::Node tree;
  std::vector<config::Override> sets;  // of the command line; they are in the tree, and again in what a change replaces
  std::vector<Axis> axes;
  std::vector<Choice> variants;
  std::optional<std::size_t> compare_to;    // number of a variant
  std::optional<std::size_t> compute_only;  // number of the variant that computes and does not communicate
  std::vector<SummaryKind> summary;
  std::optional<Ideal> ideal;
  bool blame = false;
  bool unperturbed = false;
  config::Place ideal_place;

  std::size_t points() const;
  std::size_t runs() const;  // points x variants, a point's variants one after the other
};

// One simulation of a scenario.
struct Run {
  std::size_t point = 0;
  std::optional<std::size_t> variant;
  std::vector<const Choice*> choices;  // one for each axis, then the variant

  std::string label() const;  // "128 nodes, fused"; "" where nothing varies
};

// Runs are numbered from 0; the last axis turns fastest, the variant faster still.
Run run_of(const Scenario& scenario, std::size_t number);
std::string label_of_point(const Scenario& scenario, std::size_t point);

// Applies a change to a scenario's tree. Paths reach a queue's operations and attributes whether it is written as a
// list or as a map.
bool apply_change(const config::Override& change, config::Node& tree, config::Diagnostics& diagnostics);

// Is the path one of `system`, `program`, `perturb` or `operating_point`, which runs are made of?
bool varies_runs(const config::Override& set);
// Does the change replace what `set` leads into?
bool replaces(const config::Override& change, const config::Override& set);

// Axes and variants that would take back what an axis or --set says are errors: their rows would not be what they say.
void check_overwrites(const Scenario& scenario, config::Diagnostics& diagnostics);

// From a loaded tree that `sets` were applied to. With errors, what could be read is there, so that checking its runs
// shows their errors too.
Scenario read_scenario(config::Node tree, std::vector<config::Override> sets, config::Diagnostics& diagnostics);

// Nothing where no tree could be read.
std::optional<Scenario> load_scenario(const std::filesystem::path& file, const std::vector<std::string>& sets,
                                      config::Diagnostics& diagnostics);
// The same, of a file that was loaded already.
Scenario scenario_of(const std::filesystem::path& file, config::Node tree, std::vector<config::Override> sets,
                     config::Diagnostics& diagnostics);

}  // namespace moire::study
