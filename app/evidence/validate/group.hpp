// The kinds of groups in validation files. groups.cpp lists for each kind the key that identifies its groups, the
// function that describes its keys to `moire explain`, and the function that reads a group.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "app/evidence/validate/case_scenario.hpp"
#include "app/evidence/validate/result.hpp"
#include "app/study/simulate.hpp"
#include "sim/config/catalogue.hpp"
#include "sim/config/config.hpp"

namespace moire::validate {

// Input that all groups of a file share.
struct Loading {
  std::vector<config::Override> sets;   // changes of the system or the program in every scenario
  study::Preparer* preparer = nullptr;  // shared by all groups
  bool predict = false;                 // true for --predict: measured values may be missing
};

// A running group uses the following. The runs of its case_studies() have already ended, and `simulated` returns their
// results.
struct Running {
  std::function<const study::RunResult&(const CaseStudy&)> simulated;  // returns the result of a case's run
  std::function<void(const std::string& label)> begin;                 // called when a run begins
  std::function<void()> tick;                                          // called during a run
  config::Diagnostics* diagnostics = nullptr;                          // if it has errors, the result is invalid
};

// Thrown if the simulated program of a case deadlocks.
struct Deadlocked {
  std::string label;  // of the case
  std::string report;
};

// A group that was read and checked. Only its simulation can reveal further errors.
class Group {
 public:
  virtual ~Group() = default;
  // Returns the cases whose runs must be simulated before run(). Equal runs of several groups are simulated once.
  virtual std::vector<const CaseStudy*> case_studies() const { return {}; }
  virtual std::size_t runs() const = 0;  // number of simulations that run() starts
  virtual std::size_t cases() const = 0;
  // Returns the columns whose values form the names of the cases. Each column is mapped to the values that occur in it.
  virtual std::map<std::string, std::set<std::string>> named_by() const { return {}; }
  // Returns the cases, metrics, limits, origins and figures. Throws Deadlocked if a simulated program deadlocks.
  virtual GroupResult run(const Running& running) const = 0;
};

struct GroupKind {
  std::string key;  // a group with this key is of this kind
  void (*describe)(config::Catalogue& catalogue);
  // Returns nullptr and reports errors if the group is invalid. `path` is the group's position, such as "groups.0".
  std::unique_ptr<Group> (*read)(const config::Node& node, const std::string& path, const Loading& loading,
                                 config::Diagnostics& diagnostics);
};

// Returns all kinds. A group is of the first kind whose key it has, or of the last kind if it has none of the keys.
const std::vector<GroupKind>& group_kinds();

}  // namespace moire::validate
