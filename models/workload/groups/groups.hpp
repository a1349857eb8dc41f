// Process groups: which ranks run an operation, and which of them communicate with each other. A group divides ranks
// into communicators: `tp` of a grid {tp: 8, dp: 16} has 16 communicators of 8 consecutive ranks each.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/hardware/part/reach.hpp"
#include "models/workload/formula/formula.hpp"
#include "sim/config/config.hpp"

namespace moire::groups {

using program::Rank;
using Communicator = std::vector<Rank>;  // ascending

enum class By { node };

// A group of `program.groups`. Exactly one of its keys is set, and determines the communicators.
struct GroupSpec {
  std::optional<By> by;
  std::optional<std::int64_t> size;
  std::optional<std::int64_t> stride;
  std::optional<std::vector<std::vector<std::int64_t>>> ranks;
  std::optional<formula::FormulaText> where;
  static void describe(config::Describer<GroupSpec>& d);
};

// Keys that every operation may have in addition to those of its operator.
struct MembersSpec {
  std::optional<std::string> group;
  std::optional<formula::FormulaText> where;
  static void describe(config::Describer<MembersSpec>& d);
};

// Names and sizes of the dimensions of a grid of ranks. The coordinate in the first dimension changes fastest with the
// rank.
using Grid = std::vector<std::pair<std::string, std::int64_t>>;

// Communicators of the same shape: each has `gpus` ranks on each of `nodes` nodes.
struct Layout {
  Rank nodes = 1;
  Rank gpus = 1;
  std::vector<Communicator> communicators;
};

class Groups {
 public:
  // Reads the grid and the groups. If there are errors, reports them and returns nothing. `program` is the YAML mapping
  // that contains `grid` and `groups`.
  static std::optional<Groups> read(const Grid& grid, const std::vector<std::pair<std::string, GroupSpec>>& specs,
                                    const config::Node& program, Rank ranks, const part::Reach& reach,
                                    config::Diagnostics& diagnostics);

  // Returns the communicators that run an operation. Communicators of the same shape form one layout. If there are
  // errors, reports them and returns nothing.
  std::optional<std::vector<Layout>> members(const MembersSpec& spec, const config::Node& operation,
                                             config::Diagnostics& diagnostics) const;

 private:
  Groups(Rank ranks, const part::Reach& reach) : ranks_(ranks), reach_(reach) {}

  void name_coordinates(const Grid& grid);
  std::optional<std::vector<bool>> where(const formula::FormulaText& text, config::Diagnostics& diagnostics) const;
  std::optional<std::vector<Communicator>> cut(const GroupSpec& spec, const config::Node& node,
                                               config::Diagnostics& diagnostics) const;

  Rank ranks_;
  part::Reach reach_;
  std::vector<std::pair<std::string, std::vector<Communicator>>> groups_;
  Grid grid_;
  mutable formula::Names names_;
  double* rank_ = nullptr;
  double* node_ = nullptr;
  double* gpu_ = nullptr;
  std::vector<double*> coordinates_;  // variables of the rank's coordinates in the grid
};

}  // namespace moire::groups
