// Finds one order of all instructions. Every thread block runs its instructions in this order. Instructions with the
// smallest depth (longest chain of waits before them) come first. Among instructions of equal depth, those with the
// greatest height (longest chain of waits after them) come first. Receives of a connection follow the order of its
// sends. If receives then wait for each other in a cycle, their sends are put in the order of the program, and the
// search starts again.
#include <algorithm>
#include <deque>
#include <map>
#include <queue>
#include <tuple>

#include "models/algorithms/mscclang/instruction.hpp"

namespace moire::mscclang {

namespace {

constexpr int most_attempts = 64;

class Scheduler {
 public:
  Scheduler(const Code& code, const Waits& waits) : code_(code), after_(code.instructions.size()) {
    for (std::size_t id = 0; id < waits.size(); ++id) {
      for (const Id before : waits[id]) after_[static_cast<std::size_t>(before)].push_back(static_cast<Id>(id));
    }
    for (const Transfer& transfer : code.transfers) {
      after_[static_cast<std::size_t>(transfer.sender)].push_back(transfer.receiver);
    }
    find_connections();
  }

  std::optional<Schedule> run() {
    for (int attempt = 0; attempt < most_attempts; ++attempt) {
      if (!rank_by_depth()) return std::nullopt;
      if (list()) return Schedule{std::move(order_), std::move(depth_)};
      if (!put_in_order_of_the_program()) return std::nullopt;
    }
    return std::nullopt;
  }

 private:
  struct Connection {
    std::deque<Id> sent;  // transfers whose send is in the order and whose receive is not yet
  };
  using Key = std::tuple<std::int32_t, std::int32_t, std::int32_t, Id>;

  void find_connections() {
    std::map<std::tuple<std::int32_t, std::int32_t, std::int32_t, std::int32_t>, std::int32_t> known;
    connection_of_.resize(code_.transfers.size());
    for (std::size_t t = 0; t < code_.transfers.size(); ++t) {
      const Transfer& transfer = code_.transfers[t];
      const Instruction& sender = code_.at(transfer.sender);
      const auto next = static_cast<std::int32_t>(known.size());
      connection_of_[t] =
          known.try_emplace({sender.rank, code_.at(transfer.receiver).rank, transfer.channel, sender.replica}, next)
              .first->second;
    }
    connections_.resize(known.size());
  }

  void count_waits() {
    open_.assign(code_.instructions.size(), 0);
    for (const auto& list : after_) {
      for (const Id id : list) ++open_[static_cast<std::size_t>(id)];
    }
  }

  // Computes depth and height. Returns false if the waits form a cycle.
  bool rank_by_depth() {
    const std::size_t n = code_.instructions.size();
    count_waits();
    depth_.assign(n, 0);
    height_.assign(n, 0);
    std::vector<Id> sorted;
    for (std::size_t id = 0; id < n; ++id) {
      if (!code_.instructions[id].removed && open_[id] == 0) sorted.push_back(static_cast<Id>(id));
    }
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      const auto id = static_cast<std::size_t>(sorted[i]);
      for (const Id next : after_[id]) {
        auto& depth = depth_[static_cast<std::size_t>(next)];
        depth = std::max(depth, depth_[id] + 1);
        if (--open_[static_cast<std::size_t>(next)] == 0) sorted.push_back(next);
      }
    }
    live_ = static_cast<std::size_t>(
        std::count_if(code_.instructions.begin(), code_.instructions.end(), [](const auto& i) { return !i.removed; }));
    if (sorted.size() != live_) return false;
    for (std::size_t i = sorted.size(); i-- > 0;) {
      const auto id = static_cast<std::size_t>(sorted[i]);
      for (const Id next : after_[id]) height_[id] = std::max(height_[id], height_[static_cast<std::size_t>(next)] + 1);
    }
    return true;
  }

  Key key(Id id) const {
    const Instruction& is = code_.at(id);
    const Instruction& target = is.out == nobody ? is : code_.at(code_.transfer(is.out).receiver);
    return {depth_[static_cast<std::size_t>(id)], -height_[static_cast<std::size_t>(id)],
            target.dst.index >= 0 ? target.dst.index : target.src.index, id};
  }

  Connection& connection(Id transfer) {
    return connections_[static_cast<std::size_t>(connection_of_[static_cast<std::size_t>(transfer)])];
  }

  void offer(Id id) {
    if (open_[static_cast<std::size_t>(id)] > 0) return;
    const Instruction& is = code_.at(id);
    if (is.in != nobody && connection(is.in).sent.front() != is.in) return;
    ready_.push(key(id));
  }

  // Finds the order. Returns false if some instructions never become ready, because receives of different connections
  // wait for each other.
  bool list() {
    count_waits();
    order_.clear();
    for (Connection& c : connections_) c.sent.clear();
    for (std::size_t id = 0; id < code_.instructions.size(); ++id) {
      if (!code_.instructions[id].removed) offer(static_cast<Id>(id));
    }
    while (!ready_.empty()) {
      const Id id = std::get<3>(ready_.top());
      ready_.pop();
      order_.push_back(id);
      const Instruction& is = code_.at(id);
      if (is.out != nobody) connection(is.out).sent.push_back(is.out);
      for (const Id next : after_[static_cast<std::size_t>(id)]) {
        if (--open_[static_cast<std::size_t>(next)] == 0) offer(next);
      }
      if (is.in == nobody) continue;
      auto& sent = connection(is.in).sent;
      sent.pop_front();
      if (!sent.empty()) offer(code_.transfer(sent.front()).receiver);
    }
    return order_.size() == live_;
  }

  bool put_in_order_of_the_program() {
    bool changed = false;
    for (const Connection& c : connections_) {
      if (c.sent.size() < 2) continue;
      const Transfer& first = code_.transfer(c.sent.front());
      for (const Id t : c.sent) {
        const Transfer& other = code_.transfer(t);
        if (other.receiver >= first.receiver || open_[static_cast<std::size_t>(other.receiver)] > 0) continue;
        after_[static_cast<std::size_t>(other.sender)].push_back(first.sender);
        changed = true;
      }
    }
    return changed;
  }

  const Code& code_;
  std::vector<std::vector<Id>> after_;
  std::vector<std::int32_t> connection_of_;  // by transfer
  std::vector<Connection> connections_;
  std::vector<std::int32_t> open_, depth_, height_;
  std::priority_queue<Key, std::vector<Key>, std::greater<>> ready_;
  std::vector<Id> order_;
  std::size_t live_ = 0;
};

}  // namespace

std::optional<Schedule> schedule(const Code& code, const Waits& waits) { return Scheduler(code, waits).run(); }

}  // namespace moire::mscclang
