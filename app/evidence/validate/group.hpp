// The kinds of groups in validation files. A kind is one line in groups.cpp: the key that identifies it, its spec for
// `moire explain`, and the function that reads it.
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
  std::vector<config::Override> sets;   // changes of the system or the program by the command line
  study::Preparer* preparer = nullptr;  // shared by all groups
  bool predict = false;                 // true for --predict: measured values may be missing
};

// What a running group uses: results of its case_studies(), which ran before, callbacks for progress, and a list of
// errors.
struct Running {
  std::function<const study::RunResult&(const CaseStudy&)> simulated;  // returns one of these results
  std::function<void(const std::string& label)> begin;                 // called when a run begins
  std::function<void()> tick;                                          // called during a run
  config::Diagnostics* diagnostics = nullptr;                          // if it has errors, the result is invalid
};

// Thrown for a program that deadlocks.
struct Deadlocked {
  std::string label;  // of the case
  std::string report;
};

// A group that was read and checked; only a run can reveal further errors.
class Group {
 public:
  virtual ~Group() = default;
  // Returns the runs that the group needs. Equal runs of several groups are simulated once.
  virtual std::vector<const CaseStudy*> case_studies() const { return {}; }
  virtual std::size_t runs() const = 0;  // number of runs in addition to case_studies()
  virtual std::size_t cases() const = 0;
  // Returns the columns whose values form the cases' names, and all values of each column.
  virtual std::map<std::string, std::set<std::string>> named_by() const { return {}; }
  // Simulates the group. Returns its cases, metrics, limits, origins and figures. Throws Deadlocked.
  virtual GroupResult run(const Running& running) const = 0;
};

struct GroupKind {
  std::string key;  // a group with this key is of this kind
  void (*describe)(config::Catalogue& catalogue);
  // Returns nothing and reports errors if the group is invalid. `path` is the group's position, such as "groups.0".
  std::unique_ptr<Group> (*read)(const config::Node& node, const std::string& path, const Loading& loading,
                                 config::Diagnostics& diagnostics);
};

// Returns all kinds. The last kind also applies to groups that have no kind's key.
const std::vector<GroupKind>& group_kinds();

}  // namespace moire::validate
