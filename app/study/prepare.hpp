// Prepares the runs of a scenario for simulation: applies the changes of each run, parses the result and checks it. A
// command prepares its runs once. Simulations run in processes that are forked from the command's process, so they have
// the prepared runs in their memory.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/study/scenario.hpp"
#include "models/hardware/machine/machine.hpp"
#include "models/hardware/replay/fold.hpp"
#include "models/workload/builder/builder.hpp"
#include "models/workload/libraries/software.hpp"
#include "sim/program/program.hpp"
#include "sim/program/wg_trace_files.hpp"

namespace moire::study {

// The machine that was built to check a system; it has only the first node. A simulation changes the state of its
// machine, so only the first simulation of a process may use this one. Each forked process has its own copy. The
// pointer is null if the machine was used already, or was not kept. A simulation then builds a new machine.
using SpareMachine = std::shared_ptr<std::unique_ptr<machine::Machine>>;

struct PreparedRun {
  std::shared_ptr<const libraries::EquippedSystem> system;
  std::shared_ptr<const program::Program> program;
  std::vector<builder::RecordedKernel> recorded{};  // recorded measurements of the program's kernels
  std::vector<builder::Exchange> exchanges{};       // collectives for which bandwidths are reported
  std::vector<std::string> notes{};                 // decisions of operators, with reasons
  double steps = 0;                                 // steps of simulated workgroups, estimated (program::work_of)
  replay::Fold fold{};
  SpareMachine machine{};
  std::shared_ptr<const PreparedRun> unperturbed{};         // if `perturb` applies: the run without it
  std::shared_ptr<const PreparedRun> fastest{}, slowest{};  // with `compare.spread`: at the ends of the GPU's spread
  std::optional<power::OperatingPoint> operating{};         // absent: the clock of the hardware file, no energy metrics

  PreparedRun only(std::uint32_t queue) const;  // returns this run with only one queue of its program
};
using PreparedRunPtr = std::shared_ptr<const PreparedRun>;

// Whether one block of nodes is simulated on behalf of all blocks that behave alike (replay::fold_of). automatic: if
// possible; off: never; require: a run for which it is not possible is refused.
enum class Folding { automatic, off, require };

// Prepares runs. What several runs share is read or built once: WG traces (recorded phases of workgroups), systems with
// equal text, and whole runs whose simulations are equal.
class Preparer {
 public:
  // run: the prepared runs will be simulated. check: they will not, so an operator that chooses among candidates by
  // simulating them skips this.
  enum class Purpose { run, check };
  explicit Preparer(Purpose purpose = Purpose::run, Folding folding = Folding::automatic);

  // Returns the prepared run. If the run cannot be simulated, reports errors and returns null.
  PreparedRunPtr prepare(const Scenario& scenario, const Run& run, config::Diagnostics& diagnostics);

  // True if more runs may be kept in memory. A fork takes longer the more memory this process uses, so kept runs may
  // use 128 MiB. A run beyond this limit is prepared again by the process that simulates it. The first system does not
  // count towards the limit, because nearly all runs use it.
  bool has_room() const;

  program::WgTraceFiles& traces() { return traces_; }
  Folding folding() const { return folding_; }

  // Returns how many candidates the checked runs would simulate to choose among them, as `algorithm: best` does, and
  // the steps of these simulations.
  const builder::Untried& untried() const { return untried_; }

 private:
  struct System {
    std::shared_ptr<const libraries::EquippedSystem> spec;  // null if it cannot be parsed
    SpareMachine machine;
  };
  System system_of(const config::Node& node, config::Diagnostics& diagnostics);
  replay::Fold fold_of(const System& system, const program::Program& program) const;
  std::optional<config::Problem> cannot_run(const program::Program& program, const machine::SystemSpec& system,
                                            const replay::Fold& fold, double steps) const;
  PreparedRunPtr perturbed(const PreparedRunPtr& even, const System& system, const config::Node& perturb,
                           const config::Node& program, config::Diagnostics& diagnostics) const;

  Purpose purpose_;
  Folding folding_;
  builder::Untried untried_;
  std::size_t memory_before_;  // bytes in use without prepared runs, but with the first system
  program::WgTraceFiles traces_;
  std::map<std::string, System> systems_;  // by the text of the node
  std::map<std::pair<const libraries::EquippedSystem*, std::string>, PreparedRunPtr> runs_;
};

// A scenario that passed all checks, with its runs.
struct PreparedStudy {
  Scenario scenario;
  std::vector<PreparedRunPtr> runs;             // by number; null if it was not kept (Preparer::has_room)
  std::vector<std::vector<std::string>> notes;  // by number (notes.hpp)
  std::vector<double> steps;                    // by number: estimated steps of the simulated workgroups
  Folding folding = Folding::automatic;

  PreparedRunPtr run(std::size_t number) const;  // returns a run; prepares it again if it was not kept
};

// Prepares all runs of a scenario. Returns nothing and reports errors if a run cannot be simulated. The message of an
// error that only some runs have names the first of these runs.
std::optional<PreparedStudy> prepare_runs(Scenario scenario, Preparer& preparer, config::Diagnostics& diagnostics);

// Checks a system by building a machine of its first node, and returns this machine. If it cannot be built, reports an
// error at `node` and returns null. Also returns null for SimGrid's flow model: a process can have only one SimGrid
// engine, so the machine is built without it and is good for the check only.
std::unique_ptr<machine::Machine> check_system(const machine::SystemSpec& system, const config::Node& node,
                                               config::Diagnostics& diagnostics);

// Returns the changes of a run as paths and values, in the order in which they apply: axes, variant, --set. If a path
// occurs more than once, the last change is kept.
std::vector<std::pair<std::string, config::Node>> parameters_of(const Scenario& scenario, const Run& run);

}  // namespace moire::study
