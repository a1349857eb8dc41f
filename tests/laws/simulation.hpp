// One scenario, simulated in this process as a user's would be: from its YAML, through the same preparation.
#pragma once

#include <string>
#include <vector>

#include "app/study/simulate.hpp"
#include "tests/laws/parameters.hpp"

namespace moire::laws {

// What a scenario file says, and --set after it.
struct Scenario {
  std::string system;   // the name of a file of configs/systems
  std::string program;  // YAML, in flow style
  std::vector<Change> changes;

  std::string yaml() const;
  std::string command() const;  // what follows `moire run FILE`
};

struct Outcome {
  enum class Kind { ran, refused, deadlocked, cut, broke };
  Kind kind = Kind::broke;
  std::string text;  // refused: the messages; deadlocked, broke: what was said
  study::RunResult result;
  std::vector<Time> rank_end;
  std::vector<double> sent, received;  // payload by rank: stores to peers, copies, puts
  std::vector<double> handed_on;       // of what it received, what its NIC sent for others
  double ranks = 0;
  std::size_t steps = 0;  // of workgroups, queues, copies and puts

  bool ran() const { return kind == Kind::ran; }
  double ps() const { return static_cast<double>(result.time.ps); }
  double metric(std::string_view name) const;
};
const char* name_of(Outcome::Kind kind);

// The tree of a system, read once.
const config::Node& system_tree(const std::string& name);
std::vector<std::string> system_names();
// Its numbers and those of its libraries, before changes.
const std::vector<Parameter>& hardware_of(const std::string& system);
const std::vector<Parameter>& all_numbers_of(const std::string& system);

// `most_spans`: after so many steps of workgroups, queues, copies and puts the run is cut. What is folded tells of the
// ranks that are simulated only.
Outcome simulate(const Scenario& scenario, std::size_t most_spans, study::Folding folding = study::Folding::off);

}  // namespace moire::laws
