// PAT (parallel aggregated trees, NCCL 2.23): every rank's part spreads over a binary tree whose root is the rank. The
// first step goes to the rank farthest away and carries one part. Each following step goes half as far and carries
// twice as many parts, so that most bytes travel between neighbours. A reduce-scatter is the mirror image: neighbours
// add up first. Any number of ranks takes ceil(log2(ranks)) distances. NCCL's kernel has several chunks of a tree in
// flight; in this model a channel takes the chunks one after the other.
#include <algorithm>
#include <vector>

#include "models/workload/collective/algorithms.hpp"
#include "models/workload/collective/shares.hpp"

namespace moire::collective {

namespace {

class PatProgram final : public ChannelProgram {
 public:
  explicit PatProgram(const Work& work)
      : gathers_(work.kind == Kind::all_gather),
        copies_own_(gathers_ && work.copies_own),
        ranks_(static_cast<Rank>(work.system.ranks())),
        chunk_(work.chunk),
        parts_(cut(work.bytes, ranks_)),
        part_(gathers_ ? work.bytes : parts_.each),
        shares_(deal(part_, work.channels, std::ceil(work.cell / (ranks_ - 1) / 16) * 16)) {
    for (Rank distance = 1; distance < ranks_; distance *= 2) ++distances_;
    counts_.resize(distances_);
    for (std::uint32_t i = 0; i < distances_; ++i) {
      const std::uint32_t at = gathers_ ? distances_ - 1 - i : i;
      const Rank distance = 1U << at;
      for (Rank offset = 0; offset + distance < ranks_; offset += 2 * distance)
        edges_.push_back({at, offset, counts_[at]++});
    }
  }

  std::uint32_t channels() const override { return shares_.channels; }
  std::uint32_t connections() const override { return shares_.channels * distances_; }
  Rank sender(Rank rank, std::uint32_t connection) const override {
    return away(rank, gathers_ ? ranks_ - distance_of(connection) : distance_of(connection));
  }
  Rank receiver(Rank rank, std::uint32_t connection) const override {
    return away(rank, gathers_ ? distance_of(connection) : ranks_ - distance_of(connection));
  }

  bool turns(Rank) const override { return gathers_ || parts_.all_alike(ranks_); }

  bool step(Rank rank, std::uint32_t channel, std::uint32_t, std::uint32_t number, Step& step) const override {
    const Turn turn = turn_of(number);
    const double left = shares_.of(channel) - turn.round * chunk_;
    if (left <= 0) return false;
    step.bytes = std::min(chunk_, left);
    if (turn.own) {
      step.op = Op::copy;
      return true;
    }
    const Edge& edge = edges_[turn.edge];
    step.in = step.out = channel * distances_ + edge.distance;
    step.from = sender(rank, step.in);
    step.to = receiver(rank, step.out);
    step.sent = step.received = turn.round * counts_[edge.distance] + edge.number;
    step.op = turn.sends ? Op::send : gathers_ ? Op::recv : Op::recv_reduce_copy;
    if (!gathers_) {
      const double of_root = parts_.of(away(rank, ranks_ - offset_of(turn))) - channel * shares_.share;
      step.bytes = std::clamp(std::min(shares_.of(channel), of_root) - turn.round * chunk_, 0.0, step.bytes);
    }
    return true;
  }

  // A reduce-scatter keeps the sums for other ranks in scratch, and the sums of the rank's own part in the output.
  Places places(Rank rank, std::uint32_t channel, std::uint32_t, std::uint32_t number) const override {
    const Turn turn = turn_of(number);
    const double begin = channel * shares_.share + turn.round * chunk_;
    const Rank offset = turn.own ? 0 : offset_of(turn);
    const double of_root = away(rank, ranks_ - offset) * part_ + begin;
    if (turn.own) return {{Buffer::input, begin}, {Buffer::output, of_root}};
    if (gathers_) {
      // If the rank does not copy its own part, the part is already in its place in the output.
      return {{Buffer::output, of_root}, {Buffer::output, of_root}};
    }
    const Rank distance = 1U << edges_[turn.edge].distance;
    const Place sum = offset == 0 ? Place{Buffer::output, begin} : Place{Buffer::scratch, of_root};
    const bool has_sum = distance > 1 && offset + 1 < ranks_;  // the neighbour's data have been added before
    return {has_sum ? sum : Place{Buffer::input, of_root}, sum};
  }

 private:
  // An edge that the tree of every root has. In an all-gather it leads from rank root + offset to rank root + offset +
  // 2^distance; in a reduce-scatter it leads the other way.
  struct Edge {
    std::uint32_t distance;  // log2 of the distance in ranks
    Rank offset;
    std::uint32_t number;  // index among the edges of this distance
  };
  struct Turn {
    std::uint32_t round = 0;  // in each round, one chunk of every part travels over all edges
    bool own = false;
    bool sends = false;
    std::uint32_t edge = 0;
  };

  Rank away(Rank rank, Rank by) const { return (rank + by) % ranks_; }
  Rank distance_of(std::uint32_t connection) const { return 1U << connection % distances_; }
  // Sends and receives alternate. If ranks sent all their chunks first, they could all wait for each other at full
  // FIFOs.
  Turn turn_of(std::uint32_t number) const {
    const auto per_round = static_cast<std::uint32_t>(2 * edges_.size()) + (copies_own_ ? 1 : 0);
    Turn turn{number / per_round};
    std::uint32_t at = number % per_round;
    if (copies_own_ && at-- == 0) {
      turn.own = true;
      return turn;
    }
    turn.sends = at % 2 == 0;
    turn.edge = at / 2;
    return turn;
  }
  // Returns the distance in ranks between this rank and the root of the tree. The root is the rank whose part this turn
  // sends or receives.
  Rank offset_of(const Turn& turn) const {
    const Edge& edge = edges_[turn.edge];
    return turn.sends == gathers_ ? edge.offset : edge.offset + (1U << edge.distance);
  }

  bool gathers_;
  bool copies_own_;
  Rank ranks_;
  double chunk_;
  Parts parts_;
  double part_;  // stride in bytes between the ranks' parts of the whole buffer
  Shares shares_;
  std::uint32_t distances_ = 0;
  std::vector<std::uint32_t> counts_;  // number of edges of each distance
  std::vector<Edge> edges_;            // in the order in which they are used
};

Hops hops(const machine::SystemSpec& system, Kind) {
  const double all = doublings(system.ranks()), between = doublings(system.nodes);
  return {all - between, between};
}

}  // namespace

constinit const ChannelAlgorithm pat_algorithm{
    .name = "pat",
    .expectation = nullptr,  // NCCL chooses PAT by a separate formula, and only for nodes of one GPU
    .does = [](Kind kind) { return kind == Kind::all_gather || kind == Kind::reduce_scatter; },
    .wrong_machine = nullptr,
    .hops = hops,
    .traffic = even_traffic,
    .nics_together = false,
    .program = [](const Work& work) -> std::shared_ptr<const ChannelProgram> {
      return std::make_shared<PatProgram>(work);
    }};

}  // namespace moire::collective
