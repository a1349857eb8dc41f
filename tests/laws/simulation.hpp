// Simulates a scenario in this process as `moire run` does: from its YAML, with the same preparation.
#pragma once

#include <string>
#include <vector>

#include "app/study/simulate.hpp"
#include "tests/laws/parameters.hpp"

namespace moire::laws {

// The contents of a scenario file, and --set changes.
struct Scenario {
  std::string system;   // the name of a file of configs/systems
  std::string program;  // YAML, in flow style
  std::vector<Change> changes;

  std::string yaml() const;
  std::string command() const;  // arguments after `moire run FILE`
};

struct Outcome {
  enum class Kind { ran, refused, deadlocked, cut, broke };
  Kind kind = Kind::broke;
  std::string text;  // messages, if refused, deadlocked or broke
  study::RunResult result;
  std::vector<Time> rank_end;
  std::vector<double> sent, received;  // payload bytes per rank: stores to peers, copies, puts
  std::vector<double> handed_on;       // received bytes that the rank's NIC forwarded for ranks of its node (PXN)
  double ranks = 0;
  std::size_t steps = 0;  // steps of workgroups and queues, copies, puts

  bool ran() const { return kind == Kind::ran; }
  double ps() const { return static_cast<double>(result.time.ps); }
  double metric(std::string_view name) const;
};
const char* name_of(Outcome::Kind kind);

// Returns the YAML tree of a system, which is read from its file once.
const config::Node& system_tree(const std::string& name);
std::vector<std::string> system_names();
// Return the numbers of a system before changes: those of the hardware only, and those of hardware and libraries.
const std::vector<Parameter>& hardware_of(const std::string& system);
const std::vector<Parameter>& all_numbers_of(const std::string& system);

// Simulates a scenario, and stops the run (Kind::cut) after `most_spans` steps of workgroups, queues, copies and puts.
// If `most_spans` is 0, the run has no observer: it is never stopped, and has metrics but no results per rank. With
// folding, one block of nodes is simulated on behalf of all, and results per rank cover only the ranks of this block.
Outcome simulate(const Scenario& scenario, std::size_t most_spans, study::Folding folding = study::Folding::off);

// Simulates without an observer in a child process, because a process can simulate with SimGrid's flows only once.
Outcome simulate_in_child(const Scenario& scenario);

}  // namespace moire::laws
