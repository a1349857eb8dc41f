// From the runs of a scenario to what replays need: changes applied, parsed, checked. A command prepares what it works
// on once; what simulates is a process forked from it, which has the prepared runs already.
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

// The machine that was built to check a system: of its first node. It has a state, so the first simulation of a process
// that needs no more takes it; processes forked before that have one each. Null where it was taken or is not kept: a
// simulation then builds its own.
using SpareMachine = std::shared_ptr<std::unique_ptr<machine::Machine>>;

struct PreparedRun {
  std::shared_ptr<const libraries::EquippedSystem> system;
  std::shared_ptr<const program::Program> program;
  std::vector<builder::RecordedKernel> recorded{};  // what was measured of its operations
  std::vector<builder::Exchange> exchanges{};       // operations whose bandwidth is told
  std::vector<std::string> notes{};                 // what operators decided and why
  double steps = 0;                                 // of workgroups that are simulated, about (program::work_of)
  replay::Fold fold{};
  SpareMachine machine{};
  std::shared_ptr<const PreparedRun> unperturbed{};  // where `perturb` makes parts late or slow: the same without it
  std::optional<power::OperatingPoint> operating{};  // absent: at the clock of the file, and no energy is counted

  PreparedRun only(std::uint32_t queue) const;  // one queue of the program alone
};
using PreparedRunPtr = std::shared_ptr<const PreparedRun>;

// Whether ranks that do the same are simulated as one (replay::fold_of).
enum class Folding { automatic, off, require };

// Prepares runs. What several of them share is made once: WG traces, systems that are written alike, and whole runs
// that differ in nothing that is simulated.
class Preparer {
 public:
  // check: nothing will run, so what operators decide by simulating is left open.
  enum class Purpose { run, check };
  explicit Preparer(Purpose purpose = Purpose::run, Folding folding = Folding::automatic);

  // Null, and the reasons in `diagnostics`, where the run cannot be simulated.
  PreparedRunPtr prepare(const Scenario& scenario, const Run& run, config::Diagnostics& diagnostics);

  // Whether more may be kept. Every process that is forked from this one pays for the size of it, so what goes beyond
  // is prepared again where it is simulated. The first system does not count: nearly always all runs have it.
  bool has_room() const;

  program::WgTraceFiles& traces() { return traces_; }
  Folding folding() const { return folding_; }

  // Of runs that were checked: candidates that they simulate before they run, as for `algorithm: best`.
  std::size_t untried() const { return untried_; }

 private:
  struct System {
    std::shared_ptr<const libraries::EquippedSystem> spec;  // null where it cannot be built
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
  std::size_t untried_ = 0;
  std::size_t memory_before_;  // bytes
  program::WgTraceFiles traces_;
  std::map<std::string, System> systems_;  // by what is written
  std::map<std::pair<const libraries::EquippedSystem*, std::string>, PreparedRunPtr> runs_;
};

// A scenario that passed all checks, with its runs.
struct PreparedStudy {
  Scenario scenario;
  std::vector<PreparedRunPtr> runs;             // by number; null where there was no room
  std::vector<std::vector<std::string>> notes;  // by number (notes.hpp)
  std::vector<double> steps;                    // by number, of workgroups
  Folding folding = Folding::automatic;

  PreparedRunPtr run(std::size_t number) const;  // prepared now where it was not kept
};

// Nothing, and the reasons in `diagnostics`, where a run cannot be simulated. An error that only some of them have says
// which.
std::optional<PreparedStudy> prepare_runs(Scenario scenario, Preparer& preparer, config::Diagnostics& diagnostics);

// Builds the system's first node, or reports at `node` what keeps it from being built. SimGrid has one engine per
// process: with its flow model the machine is another one, and only checked.
std::unique_ptr<machine::Machine> check_system(const machine::SystemSpec& system, const config::Node& node,
                                               config::Diagnostics& diagnostics);

// What the run changes, path to value, in the order of the changes: axes, variant, --set. The last change of a path
// counts.
std::vector<std::pair<std::string, config::Node>> parameters_of(const Scenario& scenario, const Run& run);

}  // namespace moire::study
