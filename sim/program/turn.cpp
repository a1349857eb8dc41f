#include "sim/program/turn.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace moire::program {

namespace {

// If KernelBody::turns() returns false, which means "not known", the steps of the kernel are compared one by one. This
// is the largest number of steps that are compared; the comparison then takes milliseconds.
constexpr std::uint32_t most_looked_at = 200'000;

class Turned {
 public:
  Turned(const Program& program, const core::Circle& circle, Rank by) : program_(program), circle_(circle), by_(by) {}

  bool rank(Rank a, Rank b) const { return a == no_rank ? b == no_rank : b != no_rank && circle_.plus(a, by_) == b; }
  bool flag(FlagRef a, FlagRef b) const {
    if (a == no_flag || b == no_flag) return a == b;
    const FlagPlace at = program_.place_of(a), moved = program_.place_of(b);
    return at.array == moved.array && rank(at.rank, moved.rank);
  }
  bool transfer(const Transfer& a, const Transfer& b) const {
    return rank(a.peer, b.peer) && a.bytes == b.bytes && a.ratio == b.ratio && a.way == b.way && flag(a.flag, b.flag);
  }
  bool phase(const Kernel& kernel, const Phase& a, const Phase& b) const {
    if (a.kind != b.kind || a.posted != b.posted || a.stands_for_work != b.stands_for_work ||
        a.instructions != b.instructions || a.proxied != b.proxied || a.summed != b.summed || a.shape != b.shape ||
        a.amount != b.amount || a.bytes != b.bytes || a.duration != b.duration || a.target != b.target ||
        a.queue_pair != b.queue_pair || a.gate_target != b.gate_target || !rank(a.relay, b.relay) ||
        !flag(a.flag, b.flag) || !flag(a.gate, b.gate))
      return false;
    bool to_peer = a.kind == Phase::Kind::signal || a.kind == Phase::Kind::put;
    if (a.kind == Phase::Kind::work) {
      const PhaseShape& shape = kernel.shapes[a.shape];
      to_peer = shape.peer_write + shape.peer_read > 0;
    }
    return !to_peer || rank(a.peer, b.peer);
  }

 private:
  const Program& program_;
  const core::Circle& circle_;
  Rank by_;
};

// A turn by `by`. With `block`, inside the blocks of so many ranks.
struct Turn {
  Rank by;
  std::optional<Rank> block;
  core::Circle circle;

  Rank of(Rank rank) const { return circle.plus(rank, by); }
  std::string text() const {
    return block ? fmt::format("moved by {} inside their blocks of {}", by, *block) : fmt::format("moved by {}", by);
  }
};

// A one-to-one mapping between the flags of two ranks. together() adds a pair of flags to the mapping, and returns
// false if the mapping is then no longer one-to-one.
class Pairs {
 public:
  bool together(FlagRef a, FlagRef b) {
    return there_.try_emplace(a, b).first->second == b && here_.try_emplace(b, a).first->second == a;
  }

 private:
  std::map<FlagRef, FlagRef> there_, here_;
};

// Compares every step of every workgroup of rank `from` with the same step of rank `to`.
class Steps {
 public:
  Steps(const Program& program, const Kernel& kernel, const Turn& turn, Rank from, Pairs& flags, std::uint32_t& left)
      : kernel_(kernel),
        turned_(program, turn.circle, turn.by),
        from_(from),
        to_(turn.of(from)),
        flags_(flags),
        left_(left) {}

  bool alike() {
    const KernelBody& body = *kernel_.body;
    if (body.workgroups(from_) != body.workgroups(to_) || body.strands(from_) != body.strands(to_) ||
        body.items(from_) != body.items(to_))
      return false;
    for (std::int64_t workgroup = 0; workgroup < body.workgroups(from_); ++workgroup) {
      for (std::uint32_t strand = 0; strand < body.strands(from_); ++strand) {
        const auto step = [&](Rank rank, std::uint32_t number, Phase& phase) {
          return body.strands(rank) == 1 ? body.phase(rank, workgroup, number, phase)
                                         : body.strand_phase(rank, workgroup, strand, number, phase);
        };
        if (!all_alike(step)) return false;
      }
    }
    for (std::int64_t item = 0; item < body.items(from_); ++item) {
      const auto step = [&](Rank rank, std::uint32_t number, Phase& phase) {
        return body.item_phase(rank, item, number, phase);
      };
      if (!all_alike(step)) return false;
    }
    return true;
  }

 private:
  template <class Step>
  bool all_alike(const Step& step) {
    for (std::uint32_t number = 0, passed = 1;; number += passed) {
      left_ -= std::min(left_, passed);
      if (left_ == 0) return false;
      Phase a, b;
      const bool more = step(from_, number, a);
      if (more != step(to_, number, b)) return false;
      if (!more) return true;
      if (a.skipped != b.skipped) return false;
      passed = 1 + a.skipped;
      if (!turned_.phase(kernel_, a, b) || !flags_.together(a.flag, b.flag) || !flags_.together(a.gate, b.gate))
        return false;
    }
  }

  const Kernel& kernel_;
  Turned turned_;
  Rank from_, to_;
  Pairs& flags_;
  std::uint32_t& left_;  // steps that may still be compared
};

std::string why_not(const Program& program, const Kernel& kernel, const Turn& turn) {
  const KernelBody& body = *kernel.body;
  if (turn.block ? body.turns_within(turn.by, *turn.block) : body.turns(turn.by)) return {};
  Pairs flags;
  std::uint32_t left = most_looked_at;
  for (Rank rank = 0; rank < program.ranks(); ++rank) {
    const bool alike = Steps(program, kernel, turn, rank, flags, left).alike();
    if (left == 0)
      return fmt::format("its steps are not known to repeat every {} ranks, and there are too many of them to compare",
                         turn.by);
    if (!alike)
      return fmt::format("rank {} does not do what rank {} does with all ranks {}", turn.of(rank), rank, turn.text());
  }
  return {};
}

std::string why_not(const Program& program, const Copy& copy, const Turn& turn) {
  for (Rank rank = 0; rank < program.ranks(); ++rank) {
    const Rank to = turn.of(rank);
    const Turned turned(program, turn.circle, turn.by);
    bool alike = turned.transfer(copy.transfer(rank), copy.transfer(to));
    for (const auto& beside : copy.beside) alike = alike && turned.transfer(beside(rank), beside(to));
    if (!alike)
      return fmt::format("rank {} does not copy what rank {} copies with all ranks {}", to, rank, turn.text());
  }
  return {};
}

std::string unlike_flags(const Program& program, const std::function<FlagRef(Rank)>& flag, const Turn& turn,
                         const char* does) {
  for (Rank rank = 0; rank < program.ranks(); ++rank) {
    const Rank to = turn.of(rank);
    if (!Turned(program, turn.circle, turn.by).flag(flag(rank), flag(to)))
      return fmt::format("rank {} {} what rank {} does not", rank, does, to);
  }
  return {};
}

std::string why_not(const Program& program, const Wait& wait, const Turn& turn) {
  return unlike_flags(program, wait.flag, turn, "waits for");
}

std::string why_not(const Program& program, const Signal& signal, const Turn& turn) {
  return unlike_flags(program, signal.flag, turn, "signals");
}

std::string why_not(const Program&, const Delay&, const Turn&) { return {}; }

}  // namespace

bool is_turned(const Program& program, const Kernel& kernel, const Phase& phase, Rank from, const Phase& moved, Rank to,
               const core::Circle& circle) {
  return Turned(program, circle, circle.minus(to, from)).phase(kernel, phase, moved);
}

std::string keeps_from_turning(const Program& program, Rank by, std::optional<Rank> block) {
  std::vector<std::uint32_t> blocks{program.ranks()};
  if (block) blocks.insert(blocks.begin(), *block);
  const Turn turn{by, block, core::Circle(blocks)};
  for (const Queue& queue : program.queues) {
    for (const Operation& operation : queue.operations) {
      for (Rank rank = 0; rank < program.ranks(); ++rank) {
        const Rank to = turn.of(rank);
        if (runs_on(operation, rank) != runs_on(operation, to))
          return fmt::format("'{}' runs on rank {} and not on rank {}", name_of(operation),
                             runs_on(operation, rank) ? rank : to, runs_on(operation, rank) ? to : rank);
      }
      std::string why = std::visit([&](const auto& op) { return why_not(program, op, turn); }, operation);
      if (!why.empty()) return fmt::format("'{}': {}", name_of(operation), why);
    }
  }
  return {};
}

}  // namespace moire::program
