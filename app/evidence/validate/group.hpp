// The kinds of groups that a validation file may hold. A kind is one line in groups.cpp: the key that tells it, its
// spec for `moire explain`, and how to read it.
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
  std::vector<config::Override> sets;   // of the command line, those that change system or program
  study::Preparer* preparer = nullptr;  // of all groups
  bool predict = false;                 // measured values are not asked for
};

// How a group says where it is, and what went wrong only when it ran.
struct Running {
  std::function<const study::RunResult&(const CaseStudy&)> simulated;  // of case_studies(), which have run before
  std::function<void(const std::string& label)> begin;                 // a run begins
  std::function<void()> tick;                                          // while it runs
  config::Diagnostics* diagnostics = nullptr;                          // with an error added the result is of no use
};

// A simulated program that waits for ever.
struct Deadlocked {
  std::string label;  // of the case
  std::string report;
};

// One group, read and checked: nothing is left to be found wrong with it but what only a run shows.
class Group {
 public:
  virtual ~Group() = default;
  // Runs that it asks for; those of several groups that are the same run once.
  virtual std::vector<const CaseStudy*> case_studies() const { return {}; }
  virtual std::size_t runs() const = 0;  // beside them
  virtual std::size_t cases() const = 0;
  // Columns that name its cases, each with the values it has.
  virtual std::map<std::string, std::set<std::string>> named_by() const { return {}; }
  // Cases, metrics, limits that are no statistics of the cases, origins and figures. Throws Deadlocked.
  virtual GroupResult run(const Running& running) const = 0;
};

struct GroupKind {
  std::string key;  // a group with this key is of this kind
  void (*describe)(config::Catalogue& catalogue);
  // Nothing, and the reasons in `diagnostics`, where the group is wrong. `path` is where it stands, "groups.0".
  std::unique_ptr<Group> (*read)(const config::Node& node, const std::string& path, const Loading& loading,
                                 config::Diagnostics& diagnostics);
};

// The last one is taken for a group that has no kind's key.
const std::vector<GroupKind>& group_kinds();

}  // namespace moire::validate
