#include "models/workload/groups/lift.hpp"

#include <map>
#include <optional>
#include <set>

#include "sim/core/invariant.hpp"

namespace moire::groups {

namespace {

using program::FlagRef;
using program::Phase;
using program::Program;

constexpr std::uint32_t outside = UINT32_MAX;

// Maps ranks and flags of the inner program, which was built for one communicator, to those of the whole program.
class Map : public std::enable_shared_from_this<Map> {
 public:
  Map(const Layout& layout, Rank ranks, std::shared_ptr<const Program> inner)
      : communicators_(layout.communicators), inner_(std::move(inner)), of_(ranks, outside), own_(ranks) {
    for (std::size_t c = 0; c < communicators_.size(); ++c) {
      for (std::size_t i = 0; i < communicators_[c].size(); ++i) {
        of_[communicators_[c][i]] = static_cast<std::uint32_t>(c);
        own_[communicators_[c][i]] = static_cast<Rank>(i);
      }
    }
  }

  void add_flags(Program& program) {
    for (std::uint32_t a = 0; a < inner_->arrays(); ++a) {
      const program::FlagArray& array = inner_->array(a);
      blocks_.push_back(program.add_flags({array.name, array.per_rank,
                                           [map = shared_from_this(), a](Rank rank, std::uint32_t index) {
                                             if (!map->has(rank)) return std::pair{rank, std::string("nobody")};
                                             auto [from, kernel] =
                                                 map->inner_->array(a).raised_by(map->own(rank), index);
                                             return std::pair{map->whole(rank, from), std::move(kernel)};
                                           },
                                           array.in_order}));
    }
  }

  Rank ranks() const { return static_cast<Rank>(of_.size()); }
  bool has(Rank rank) const { return of_[rank] != outside; }
  // Moves every rank `by` places on inside its block of `block` consecutive ranks, around the block. If this maps whole
  // communicators to whole communicators, and moves all ranks by the same number of places in their communicators,
  // returns this number; otherwise nothing.
  std::optional<Rank> turned(Rank by, Rank block) const {
    const auto ranks = static_cast<Rank>(of_.size());
    std::vector<std::uint32_t> to(communicators_.size(), outside);
    std::optional<Rank> inner;
    for (Rank rank = 0; rank < ranks; ++rank) {
      const Rank moved = rank / block * block + (rank % block + by) % block;
      if (has(rank) != has(moved)) return std::nullopt;
      if (!has(rank)) continue;
      std::uint32_t& there = to[of_[rank]];
      if (there == outside) there = of_[moved];
      const auto size = static_cast<Rank>(communicators_[of_[rank]].size());
      const Rank places = (own_[moved] + size - own_[rank]) % size;
      if (!inner) inner = places;
      if (there != of_[moved] || *inner != places) return std::nullopt;
    }
    return inner.value_or(0);
  }
  Rank own(Rank rank) const { return own_[rank]; }
  Rank whole(Rank rank, Rank inner) const { return communicators_[of_[rank]][inner]; }
  FlagRef whole_flag(Rank rank, FlagRef flag) const {
    if (flag == program::no_flag) return flag;
    const program::FlagPlace place = inner_->place_of(flag);
    return blocks_[place.array].at(whole(rank, place.rank), place.index);
  }

 private:
  std::vector<Communicator> communicators_;
  std::shared_ptr<const Program> inner_;
  std::vector<std::uint32_t> of_;  // communicator of each rank
  std::vector<Rank> own_;          // position of each rank in its communicator
  std::vector<program::FlagBlock> blocks_;
};
using MapPtr = std::shared_ptr<const Map>;

class LiftedBody final : public program::KernelBody {
 public:
  LiftedBody(std::shared_ptr<const KernelBody> inner, MapPtr map) : inner_(std::move(inner)), map_(std::move(map)) {}
  std::int64_t workgroups(Rank rank) const override {
    return map_->has(rank) ? inner_->workgroups(map_->own(rank)) : 0;
  }
  bool phase(Rank rank, std::int64_t workgroup, std::uint32_t step, Phase& phase) const override {
    return inner_->phase(map_->own(rank), workgroup, step, phase) && lift(rank, phase);
  }
  std::uint32_t strands(Rank rank) const override { return inner_->strands(map_->own(rank)); }
  bool strand_phase(Rank rank, std::int64_t workgroup, std::uint32_t strand, std::uint32_t step,
                    Phase& phase) const override {
    return inner_->strand_phase(map_->own(rank), workgroup, strand, step, phase) && lift(rank, phase);
  }
  std::int64_t items(Rank rank) const override { return map_->has(rank) ? inner_->items(map_->own(rank)) : 0; }
  bool turns(Rank by) const override { return turns_within(by, map_->ranks()); }
  bool turns_within(Rank by, Rank block) const override {
    const std::optional<Rank> inner = map_->turned(by, block);
    return inner && (*inner == 0 || inner_->turns(*inner));
  }
  bool by_itself() const override { return inner_->by_itself(); }
  bool item_phase(Rank rank, std::int64_t item, std::uint32_t step, Phase& phase) const override {
    return inner_->item_phase(map_->own(rank), item, step, phase) && lift(rank, phase);
  }

 private:
  bool lift(Rank rank, Phase& phase) const {
    phase.peer = map_->whole(rank, phase.peer);
    if (phase.relay != program::no_rank) phase.relay = map_->whole(rank, phase.relay);
    phase.flag = map_->whole_flag(rank, phase.flag);
    phase.gate = map_->whole_flag(rank, phase.gate);
    return true;
  }

  std::shared_ptr<const KernelBody> inner_;
  MapPtr map_;
};

std::function<program::Transfer(Rank)> lifted(const std::function<program::Transfer(Rank)>& transfer,
                                              const MapPtr& map) {
  return [transfer, map](Rank rank) {
    program::Transfer made = transfer(map->own(rank));
    made.peer = map->whole(rank, made.peer);
    made.flag = map->whole_flag(rank, made.flag);
    return made;
  };
}

std::function<FlagRef(Rank)> lifted(const std::function<FlagRef(Rank)>& flag, const MapPtr& map) {
  return [flag, map](Rank rank) { return map->whole_flag(rank, flag(map->own(rank))); };
}

program::Operation lifted(const program::Operation& operation, const MapPtr& map) {
  program::Operation made = operation;
  if (auto* kernel = std::get_if<program::Kernel>(&made)) {
    kernel->body = std::make_shared<LiftedBody>(kernel->body, map);
  } else if (auto* copy = std::get_if<program::Copy>(&made)) {
    copy->transfer = lifted(copy->transfer, map);
    for (auto& beside : copy->beside) beside = lifted(beside, map);
  } else if (auto* signal = std::get_if<program::Signal>(&made)) {
    signal->flag = lifted(signal->flag, map);
  } else if (auto* wait = std::get_if<program::Wait>(&made)) {
    wait->flag = lifted(wait->flag, map);
  }
  return made;
}

// Returns the system for which a communicator's program is built: the communicator's GPUs of each node, and the NICs
// nearest to these GPUs.
libraries::EquippedSystem seen_by(const Layout& layout, const libraries::EquippedSystem& whole) {
  libraries::EquippedSystem system = whole;
  system.nodes = layout.nodes;
  system.node.gpus = layout.gpus;
  if (layout.gpus != whole.node.gpus) system.node.gpu.port.multicast_efficiency.reset();  // multicast needs all GPUs
  if (whole.node.nics == 0) return system;
  std::set<std::int64_t> nics;
  for (Rank i = 0; i < layout.gpus; ++i) {
    const Rank gpu = whole.node.reach().gpu_of(layout.communicators.front()[i]);
    nics.insert(gpu * whole.node.nics / whole.node.gpus);
  }
  system.node.nics = std::ssize(nics);
  return system;
}

}  // namespace

bool append_to(const Layout& layout, builder::Builder& build, const std::function<bool(builder::Builder&)>& append) {
  const libraries::EquippedSystem system = seen_by(layout, build.system);
  const auto inner = std::make_shared<Program>(layout.nodes * layout.gpus);
  // Reserves the names of the whole program's operations, so that unique() avoids them.
  program::Queue& taken = inner->queues.emplace_back();
  for (const program::Queue& queue : build.program.queues) {
    for (const program::Operation& operation : queue.operations)
      taken.operations.emplace_back(program::Delay{program::name_of(operation), Time{}});
  }
  program::Queue queue;
  queue.name = build.queue.name;
  queue.cus = build.queue.cus;
  inner->queues.push_back(std::move(queue));
  program::Queue& main = inner->queues.back();
  builder::Builder own{system, *inner, main, build.path, build.traces, build.recorded, build.notes, build.untried};
  if (!append(own)) return false;
  const auto map = std::make_shared<Map>(layout, build.ranks(), inner);
  map->add_flags(build.program);
  // Maps the ranks that run an inner operation to ranks of the whole program. Operations that share a set of inner
  // ranks share the mapped set, too.
  std::map<program::RankSet, program::RankSet> sets;
  const auto lifted_set = [&](const program::RankSet& inner_set) {
    program::RankSet& known = sets[inner_set];
    if (known) return known;
    auto set = std::make_shared<std::vector<bool>>(build.ranks());
    for (Rank rank = 0; rank < build.ranks(); ++rank)
      (*set)[rank] = map->has(rank) && (!inner_set || (*inner_set)[map->own(rank)]);
    return known = set;
  };
  for (const program::Queue& made : inner->queues) {
    if (&made == &taken) continue;
    program::Queue& to = &made == &main ? build.queue : build.stream(made.name.substr(main.name.size() + 1));
    to.by_host = made.by_host;
    for (const program::Operation& operation : made.operations) {
      program::Operation whole = lifted(operation, map);
      std::visit([&](auto& op) { op.ranks = lifted_set(op.ranks); }, whole);
      to.operations.push_back(std::move(whole));
    }
  }
  return true;
}

}  // namespace moire::groups
