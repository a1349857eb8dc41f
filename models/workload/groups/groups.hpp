// Process groups: which ranks an operation runs on, and who of them communicates with whom. A group cuts ranks into
// communicators: `tp` of a grid {tp: 8, dp: 16} has 16 communicators of 8 ranks, each with the next 7 ranks.
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

// One of the keys.
struct GroupSpec {
  std::optional<By> by;
  std::optional<std::int64_t> size;
  std::optional<std::int64_t> stride;
  std::optional<std::vector<std::vector<std::int64_t>>> ranks;
  std::optional<formula::FormulaText> where;
  static void describe(config::Describer<GroupSpec>& d);
};

// What any operation may say beside its operator's keys.
struct MembersSpec {
  std::optional<std::string> group;
  std::optional<formula::FormulaText> where;
  static void describe(config::Describer<MembersSpec>& d);
};

using Grid = std::vector<std::pair<std::string, std::int64_t>>;  // the first varies fastest from rank to rank

// Communicators that lie alike on nodes: `gpus` of each of `nodes`.
struct Layout {
  Rank nodes = 1;
  Rank gpus = 1;
  std::vector<Communicator> communicators;
};

class Groups {
 public:
  // Nothing, and the reasons in `diagnostics`, where one is wrong. `program` is the mapping that has them.
  static std::optional<Groups> read(const Grid& grid, const std::vector<std::pair<std::string, GroupSpec>>& specs,
                                    const config::Node& program, Rank ranks, const part::Reach& reach,
                                    config::Diagnostics& diagnostics);

  // Who takes part, by layout; nothing after reporting what is wrong.
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
  std::vector<double*> coordinates_;  // of the grid
};

}  // namespace moire::groups
