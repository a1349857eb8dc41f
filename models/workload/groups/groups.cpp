#include "models/workload/groups/groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "sim/config/suggest.hpp"

namespace moire::groups {

using formula::Formula;
using formula::FormulaText;

void GroupSpec::describe(config::Describer<GroupSpec>& d) {
  d.component("group",
              "Which ranks communicate with each other: one of these keys divides the ranks into communicators.");
  d.field("by", &GroupSpec::by, "node: the GPUs of each node are a communicator")
      .choices({{"node", By::node}})
      .optional();
  d.field("size", &GroupSpec::size, "Each communicator consists of this many consecutive ranks")
      .range(1, 1 << 20)
      .optional();
  d.field("stride", &GroupSpec::stride,
          "Ranks r, r + stride, r + 2 stride, ... are a communicator; there are as many communicators as the stride")
      .range(1, 1 << 20)
      .optional();
  d.field("ranks", &GroupSpec::ranks, "Communicators as lists of ranks; ranks in none of the lists do not take part")
      .example("[[0, 1], [2, 3]]")
      .optional();
  d.field("where", &GroupSpec::where, "One communicator, of the ranks for which the formula is not 0")
      .example("mod(rank, gpus) == 0")
      .optional();
  d.check([](const GroupSpec& s) -> std::optional<config::Problem> {
    const int keys =
        s.by.has_value() + s.size.has_value() + s.stride.has_value() + s.ranks.has_value() + s.where.has_value();
    if (keys == 1) return std::nullopt;
    return config::Problem{fmt::format("the group has {} keys", keys), "write one of by, size, stride, ranks, where"};
  });
}

void MembersSpec::describe(config::Describer<MembersSpec>& d) {
  d.component("operation",
              "Keys that any operation of a queue may have in addition to the keys of its operator. Ranks that do not "
              "take part continue with the next operation at once.");
  d.field("group", &MembersSpec::group,
          "A name in program.groups or program.grid: the operation runs in each of its communicators separately, as if "
          "their ranks were the whole system; absent: all ranks are one communicator")
      .example("tp")
      .optional();
  d.field("where", &MembersSpec::where,
          "The operation only runs on ranks for which this formula over rank, ranks, node, nodes, gpu, gpus and the "
          "names of the grid is not 0. With a group, these ranks must be whole communicators; without one, they are "
          "one communicator")
      .example("pp == 0")
      .optional();
}

namespace {

std::string text_of(const Communicator& ranks) {
  std::vector<std::string> words;
  constexpr std::size_t shown = 8;
  for (std::size_t i = 0; i < std::min(ranks.size(), shown); ++i) words.push_back(std::to_string(ranks[i]));
  return config::join(words) + (ranks.size() > shown ? ", ..." : "");
}

}  // namespace

void Groups::name_coordinates(const Grid& grid) {
  std::string why;
  names_.add("ranks", ranks_, why);
  names_.add("gpus", reach_.gpus_per_node(), why);
  names_.add("nodes", static_cast<double>(ranks_) / reach_.gpus_per_node(), why);
  rank_ = names_.add("rank", 0, why);
  node_ = names_.add("node", 0, why);
  gpu_ = names_.add("gpu", 0, why);
  for (const auto& [name, size] : grid) coordinates_.push_back(names_.add(name, 0, why));
}

std::optional<Groups> Groups::read(const Grid& grid, const std::vector<std::pair<std::string, GroupSpec>>& specs,
                                   const config::Node& program, Rank ranks, const part::Reach& reach,
                                   config::Diagnostics& diagnostics) {
  const std::size_t before = diagnostics.size();
  Groups made(ranks, reach);
  made.grid_ = grid;
  made.name_coordinates(grid);
  const config::Node* grid_node = program.find("grid");
  std::int64_t size = 1;
  for (std::size_t i = 0; i < grid.size(); ++i) {
    if (made.coordinates_[i] == nullptr) {
      diagnostics.error(grid_node->entries[i].key_place,
                        config::in_quotes(grid[i].first) + " cannot be used as a new name",
                        "use letters, digits and _, but none of rank, ranks, node, nodes, gpu, gpus");
    }
    size = std::min<std::int64_t>(size * grid[i].second, std::int64_t{1} << 40);
  }
  if (!grid.empty() && size != ranks) {
    diagnostics.error(grid_node->place, fmt::format("the grid has {} ranks, but the system has {}", size, ranks),
                      "write sizes whose product is the number of ranks, or change system.nodes");
  }
  if (diagnostics.size() > before) return std::nullopt;
  // A communicator of a grid dimension consists of ranks whose coordinates differ in this dimension only.
  std::int64_t step = 1;
  for (const auto& [name, count] : grid) {
    std::vector<Communicator>& all = made.groups_.emplace_back(name, std::vector<Communicator>()).second;
    for (std::int64_t first = 0; first < ranks; ++first) {
      if (first / step % count != 0) continue;
      Communicator& communicator = all.emplace_back();
      for (std::int64_t i = 0; i < count; ++i) communicator.push_back(static_cast<Rank>(first + i * step));
    }
    step *= count;
  }
  const config::Node* list = program.find("groups");
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const auto taken = std::find_if(made.groups_.begin(), made.groups_.end(),
                                    [&](const auto& known) { return known.first == specs[i].first; });
    if (taken != made.groups_.end()) {
      diagnostics.error(list->entries[i].key_place,
                        config::in_quotes(specs[i].first) + " is already a group of the grid", "use another name");
      continue;
    }
    auto communicators = made.cut(specs[i].second, list->entries[i].value, diagnostics);
    if (communicators) made.groups_.emplace_back(specs[i].first, std::move(*communicators));
  }
  if (diagnostics.size() > before) return std::nullopt;
  return made;
}

std::optional<std::vector<bool>> Groups::where(const FormulaText& text, config::Diagnostics& diagnostics) const {
  const auto formula = Formula::compile(text, "where", names_, diagnostics);
  if (!formula) return std::nullopt;
  std::vector<bool> all(ranks_);
  for (Rank rank = 0; rank < ranks_; ++rank) {
    *rank_ = rank;
    *node_ = reach_.node_of(rank);
    *gpu_ = reach_.gpu_of(rank);
    std::int64_t left = rank;
    for (std::size_t i = 0; i < grid_.size(); ++i) {
      *coordinates_[i] = static_cast<double>(left % grid_[i].second);
      left /= grid_[i].second;
    }
    all[rank] = formula->value() != 0;
  }
  return all;
}

std::optional<std::vector<Communicator>> Groups::cut(const GroupSpec& spec, const config::Node& node,
                                                     config::Diagnostics& diagnostics) const {
  std::vector<Communicator> made;
  const auto in_runs = [&](Rank size) {
    for (Rank first = 0; first < ranks_; first += size) {
      for (Rank i = 0; i < size; ++i) (i == 0 ? made.emplace_back() : made.back()).push_back(first + i);
    }
  };
  const auto divides = [&](std::int64_t by, const char* key) {
    if (ranks_ % by == 0) return true;
    diagnostics.error(node.find(key)->place, fmt::format("{} {} does not divide the {} ranks", key, by, ranks_),
                      "write a divisor of the number of ranks");
    return false;
  };
  if (spec.by) {
    in_runs(reach_.gpus_per_node());
  } else if (spec.size) {
    if (!divides(*spec.size, "size")) return std::nullopt;
    in_runs(static_cast<Rank>(*spec.size));
  } else if (spec.stride) {
    if (!divides(*spec.stride, "stride")) return std::nullopt;
    made.resize(static_cast<std::size_t>(*spec.stride));
    for (Rank rank = 0; rank < ranks_; ++rank) made[rank % static_cast<Rank>(*spec.stride)].push_back(rank);
  } else if (spec.where) {
    const auto in = where(*spec.where, diagnostics);
    if (!in) return std::nullopt;
    Communicator& one = made.emplace_back();
    for (Rank rank = 0; rank < ranks_; ++rank) {
      if ((*in)[rank]) one.push_back(rank);
    }
  } else {
    std::vector<bool> taken(ranks_);
    const config::Node* lists = node.find("ranks");
    for (std::size_t i = 0; i < spec.ranks->size(); ++i) {
      Communicator& communicator = made.emplace_back();
      for (const std::int64_t rank : (*spec.ranks)[i]) {
        if (rank < 0 || rank >= ranks_ || taken[static_cast<std::size_t>(rank)]) {
          diagnostics.error(lists->items[i].place,
                            rank < 0 || rank >= ranks_ ? fmt::format("there is no rank {} of {} ranks", rank, ranks_)
                                                       : fmt::format("rank {} appears twice in the group", rank),
                            fmt::format("name each rank once, 0 to {}", ranks_ - 1));
          return std::nullopt;
        }
        taken[static_cast<std::size_t>(rank)] = true;
        communicator.push_back(static_cast<Rank>(rank));
      }
      std::sort(communicator.begin(), communicator.end());
    }
  }
  std::erase_if(made, [](const Communicator& c) { return c.empty(); });
  if (!made.empty()) return made;
  diagnostics.error(node.place, "the group has no ranks", "write a formula or lists that contain at least one rank");
  return std::nullopt;
}

std::optional<std::vector<Layout>> Groups::members(const MembersSpec& spec, const config::Node& operation,
                                                   config::Diagnostics& diagnostics) const {
  std::vector<Communicator> communicators;
  if (spec.group) {
    const auto found =
        std::find_if(groups_.begin(), groups_.end(), [&](const auto& known) { return known.first == *spec.group; });
    if (found == groups_.end()) {
      std::vector<std::string> known;
      for (const auto& [name, all] : groups_) known.push_back(name);
      diagnostics.error(
          operation.find("group")->place, "the program has no group " + config::in_quotes(*spec.group),
          known.empty() ? "add grid: or groups: next to the queues" : config::suggestion(*spec.group, known, "groups"));
      return std::nullopt;
    }
    communicators = found->second;
  }
  if (spec.where) {
    const auto in = where(*spec.where, diagnostics);
    if (!in) return std::nullopt;
    if (!spec.group) {
      Communicator& one = communicators.emplace_back();
      for (Rank rank = 0; rank < ranks_; ++rank) {
        if ((*in)[rank]) one.push_back(rank);
      }
    }
    for (const Communicator& c : communicators) {
      const auto count = std::count_if(c.begin(), c.end(), [&](Rank rank) { return (*in)[rank]; });
      if (count == 0 || count == std::ssize(c)) continue;
      diagnostics.error(
          spec.where->place,
          fmt::format("'where' holds for {} of the {} ranks of a communicator of group '{}', not for all or none: {}",
                      count, c.size(), *spec.group, text_of(c)),
          "write a formula that has the same result for all of them");
      return std::nullopt;
    }
    std::erase_if(communicators, [&](const Communicator& c) { return c.empty() || !(*in)[c.front()]; });
    if (communicators.empty()) {
      diagnostics.error(spec.where->place, "'where' holds for no rank",
                        "write a formula that holds for at least one rank");
      return std::nullopt;
    }
  }
  std::map<std::pair<Rank, Rank>, Layout> layouts;
  for (Communicator& c : communicators) {
    std::map<Rank, Rank> in_node;
    for (const Rank rank : c) ++in_node[reach_.node_of(rank)];
    const Rank gpus = in_node.begin()->second;
    if (std::any_of(in_node.begin(), in_node.end(), [&](const auto& count) { return count.second != gpus; })) {
      diagnostics.error(operation.place,
                        fmt::format("a communicator has {} ranks on node {} but a different number on other nodes: {}",
                                    gpus, in_node.begin()->first, text_of(c)),
                        "use the same number of ranks on each of its nodes");
      return std::nullopt;
    }
    Layout& layout = layouts[{static_cast<Rank>(in_node.size()), gpus}];
    layout.nodes = static_cast<Rank>(in_node.size());
    layout.gpus = gpus;
    layout.communicators.push_back(std::move(c));
  }
  std::vector<Layout> made;
  for (auto& [shape, layout] : layouts) made.push_back(std::move(layout));
  return made;
}

}  // namespace moire::groups
