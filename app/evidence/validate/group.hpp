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

// What all groups of a file share.
struct Loading {
  std::vector<config::Override> sets;   // of the command line: changes of the system or the program
  study::Preparer* preparer = nullptr;  // shared by all groups
  bool predict = false;                 // predict: measured values are not needed
};

// How a group reports its progress, and errors that appear only when it runs.
struct Running {
  std::function<const study::RunResult&(const CaseStudy&)> simulated;  // for case_studies(), which have run before
  std::function<void(const std::string& label)> begin;                 // a run begins
  std::function<void()> tick;                                          // called during a run
  config::Diagnostics* diagnostics = nullptr;                          // with an error, the result is invalid
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
  // The runs that it needs; equal runs of several groups are simulated once.
  virtual std::vector<const CaseStudy*> case_studies() const { return {}; }
  virtual std::size_t runs() const = 0;  // in addition to those
  virtual std::size_t cases() const = 0;
  // Columns that name its cases, with their values.
  virtual std::map<std::string, std::set<std::string>> named_by() const { return {}; }
  // Returns cases, metrics, limits other than on statistics of the cases, origins and figures. Throws Deadlocked.
  virtual GroupResult run(const Running& running) const = 0;
};

struct GroupKind {
  std::string key;  // a group with this key is of this kind
  void (*describe)(config::Catalogue& catalogue);
  // Returns nothing and reports errors if the group is invalid. `path` is its position, "groups.0".
  std::unique_ptr<Group> (*read)(const config::Node& node, const std::string& path, const Loading& loading,
                                 config::Diagnostics& diagnostics);
};

// The last kind applies to groups without any kind's key.
const std::vector<GroupKind>& group_kinds();

}  // namespace moire::validate
