// Chooses channels where the program leaves thread blocks to the compiler.
//
// A chain of fused instructions is a flow. The transfers of a flow share a channel, and on each rank between its ends
// one thread block receives from the previous rank of the flow and sends to the next rank of the flow. Flows over the
// same hops share a channel. Other flows that share a connection get different channels while free channels are left,
// so that each flow has its own thread blocks. A transfer outside of flows uses channel 0 unless the program names
// another channel.
#include <algorithm>
#include <functional>
#include <unordered_map>

#include "models/algorithms/mscclang/instruction.hpp"

namespace moire::mscclang {

namespace {

constexpr std::int32_t most_channels = 32;

struct Key {  // a connection, or the peer of a thread block in one direction
  std::int32_t replica = 0;
  std::int32_t channel = 0;
  std::int32_t rank = 0;
  std::int32_t peer = 0;
  bool operator==(const Key&) const = default;
};
struct KeyHash {
  std::size_t operator()(const Key& key) const {
    std::uint64_t x = static_cast<std::uint64_t>(key.replica) << 40 ^ static_cast<std::uint64_t>(key.channel) << 34;
    x ^= static_cast<std::uint64_t>(key.rank) << 17 ^ static_cast<std::uint64_t>(key.peer);
    return static_cast<std::size_t>(x * 0x9e3779b97f4a7c15ULL >> 7);
  }
};
using Map = std::unordered_map<Key, std::int32_t, KeyHash>;

using Hops = std::vector<std::pair<std::int32_t, std::int32_t>>;

class Connector {
 public:
  explicit Connector(Code& code) : code_(code) {}

  void run() {
    for (Transfer& transfer : code_.transfers) transfer.channel = -1;
    collect();
    for (Flow& flow : flows_) {
      if (flow.wish >= 0) place(flow, flow.wish);
    }
    for (Flow& flow : flows_) {
      if (flow.wish < 0) place(flow, choose(flow));
    }
    for (std::size_t t = 0; t < code_.transfers.size(); ++t) {
      Transfer& transfer = code_.transfers[t];
      if (transfer.channel < 0) transfer.channel = std::max(0, code_.wish(static_cast<Id>(t)));
    }
  }

 private:
  struct Flow {
    std::vector<Id> transfers;
    std::int32_t wish = -1;
    std::int32_t replica = 0;
    std::int32_t route = 0;
  };

  void collect() {
    std::map<Hops, std::int32_t> routes;
    for (const Instruction& first : code_.instructions) {
      if (first.removed || first.in != nobody || first.out == nobody) continue;
      Flow flow;
      Hops hops;
      for (Id t = first.out; t != nobody; t = code_.at(code_.transfer(t).receiver).out) {
        flow.transfers.push_back(t);
        flow.wish = std::max(flow.wish, code_.wish(t));
        hops.emplace_back(from(t), to(t));
      }
      if (flow.transfers.size() == 1) continue;
      std::sort(hops.begin(), hops.end());
      hops.erase(std::unique(hops.begin(), hops.end()), hops.end());
      flow.replica = first.replica;
      flow.route = routes.emplace(std::move(hops), static_cast<std::int32_t>(routes.size())).first->second;
      flows_.push_back(std::move(flow));
    }
  }

  std::int32_t from(Id t) const { return code_.at(code_.transfer(t).sender).rank; }
  std::int32_t to(Id t) const { return code_.at(code_.transfer(t).receiver).rank; }

  // True if, on this channel, one thread block can receive transfer `at` of the flow and send the transfer after it.
  bool joins(const Flow& flow, std::size_t at, std::int32_t channel) const {
    const std::int32_t before = from(flow.transfers[at]);
    const std::int32_t rank = to(flow.transfers[at]);
    const std::int32_t behind = to(flow.transfers[at + 1]);
    const auto sends = send_of_.find({flow.replica, channel, rank, before});
    const auto recvs = recv_of_.find({flow.replica, channel, rank, behind});
    return (sends == send_of_.end() || sends->second == behind) && (recvs == recv_of_.end() || recvs->second == before);
  }

  bool all_join(const Flow& flow, std::int32_t channel) const {
    for (std::size_t i = 0; i + 1 < flow.transfers.size(); ++i) {
      if (!joins(flow, i, channel)) return false;
    }
    return true;
  }

  bool is_its_own(const Flow& flow, std::int32_t channel) const {
    return std::all_of(flow.transfers.begin(), flow.transfers.end(), [&](Id t) {
      const auto owner = owner_.find({flow.replica, channel, from(t), to(t)});
      return owner == owner_.end() || owner->second == flow.route;
    });
  }

  std::int32_t choose(const Flow& flow) {
    const std::int32_t most = std::max(1, most_channels / code_.replicas);
    for (std::int32_t c = 0; c < most; ++c) {
      if (is_its_own(flow, c) && all_join(flow, c)) return c;
    }
    for (std::int32_t c = 0; c < most; ++c) {
      if (all_join(flow, c)) return c;
    }
    return 0;
  }

  // Gives the channel to all transfers of the flow. If no thread block of the channel can serve a fused instruction,
  // splits it into its receive and its send.
  void place(const Flow& flow, std::int32_t channel) {
    for (std::size_t i = 0; i < flow.transfers.size(); ++i) {
      const Id t = flow.transfers[i];
      owner_.emplace(Key{flow.replica, channel, from(t), to(t)}, flow.route);
      code_.transfer(t).channel = channel;
      if (i + 1 == flow.transfers.size()) break;
      if (!joins(flow, i, channel)) {
        part(code_, code_.transfer(t).receiver);
        continue;
      }
      const std::int32_t behind = to(flow.transfers[i + 1]);
      send_of_.emplace(Key{flow.replica, channel, to(t), from(t)}, behind);
      recv_of_.emplace(Key{flow.replica, channel, to(t), behind}, from(t));
    }
  }

  Code& code_;
  std::vector<Flow> flows_;
  Map owner_;    // connection -> route (hops of the flows that may use it)
  Map send_of_;  // rank and the peer that a block receives from -> the peer that this block sends to
  Map recv_of_;  // rank and the peer that a block sends to -> the peer that this block receives from
};

}  // namespace

void connect_automatic(Code& code) { Connector(code).run(); }

}  // namespace moire::mscclang
