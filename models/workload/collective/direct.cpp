// Direct: every rank exchanges with every other rank in one step. Channels begin with different peers, so that all
// links are used.
#include "models/workload/collective/algorithms.hpp"
#include "models/workload/collective/shares.hpp"

namespace moire::collective {

namespace {

class DirectProgram final : public ChannelProgram {
 public:
  explicit DirectProgram(const Work& work)
      : kind_(work.kind),
        ranks_(static_cast<Rank>(work.system.ranks())),
        root_(work.root),
        chunk_(work.chunk),
        parts_(cut(work.bytes, ranks_)),
        part_(work.kind == Kind::all_gather ? work.bytes : parts_.each) {
    const double peers = ranks_ - 1;
    double dealt = work.bytes, traffic = peers;
    if (kind_ == Kind::reduce_scatter || kind_ == Kind::all_reduce) dealt = parts_.each;
    if (kind_ == Kind::all_reduce) traffic = 2 * peers;
    shares_ = deal(dealt, work.channels, std::ceil(work.cell / traffic / 16) * 16);
    if (kind_ == Kind::all_gather) stages_ = {Stage::own, Stage::send, Stage::receive};
    if (kind_ == Kind::all_gather && !work.copies_own) stages_.erase(stages_.begin());
    if (kind_ == Kind::reduce_scatter) stages_ = {Stage::send, Stage::reduce};
    if (kind_ == Kind::all_reduce) stages_ = {Stage::send, Stage::reduce, Stage::send, Stage::receive};
    if (kind_ == Kind::broadcast) stages_ = {Stage::send, Stage::receive};
    ops_ = static_cast<std::uint32_t>(stages_.size()) * (ranks_ - 1);
  }

  std::uint32_t channels() const override { return shares_.channels; }
  std::uint32_t connections() const override { return shares_.channels * (ranks_ - 1); }
  Rank sender(Rank rank, std::uint32_t connection) const override {
    return (rank + ranks_ - 1 - connection % (ranks_ - 1)) % ranks_;
  }
  Rank receiver(Rank rank, std::uint32_t connection) const override {
    return (rank + 1 + connection % (ranks_ - 1)) % ranks_;
  }

  bool turns(Rank) const override {
    return kind_ == Kind::all_gather || (kind_ != Kind::broadcast && parts_.all_alike(ranks_));
  }

  // A stage has one step per peer. In a stage that needs only one step, the other steps are empty.
  bool step(Rank rank, std::uint32_t channel, std::uint32_t, std::uint32_t number, Step& step) const override {
    const std::uint32_t peers = ranks_ - 1;
    const std::uint32_t loop = number / ops_;
    const double left = shares_.of(channel) - loop * chunk_;
    if (left <= 0) return false;
    step.bytes = std::min(chunk_, left);
    const std::uint32_t at = number % ops_ / peers;
    const std::uint32_t turn = (number % peers + channel) % peers;  // counted from 0
    step.in = step.out = channel * peers + turn;
    step.from = sender(rank, step.in);
    step.to = receiver(rank, step.out);
    const bool second = at >= 2 && kind_ == Kind::all_reduce;
    step.sent = step.received = kind_ == Kind::all_reduce ? 2 * loop + (second ? 1 : 0) : loop;
    if (kind_ == Kind::reduce_scatter || kind_ == Kind::all_reduce) {
      const Rank of = stages_[at] == Stage::send && !second ? step.to
                      : stages_[at] == Stage::receive       ? step.from
                                                            : rank;
      step.bytes = std::clamp(std::min(shares_.of(channel), parts_.of(of) - channel * shares_.share) - loop * chunk_,
                              0.0, step.bytes);
    }
    switch (stages_[at]) {
      case Stage::own:
        if (number % peers == 0) step.op = Op::copy;
        break;
      case Stage::send:
        if (kind_ != Kind::broadcast || rank == root_) step.op = Op::send;
        break;
      case Stage::receive:
        if (kind_ != Kind::broadcast || step.from == root_) step.op = Op::recv;
        break;
      case Stage::reduce:
        step.op = Op::recv_reduce_copy;
        break;
    }
    return true;
  }

  Places places(Rank rank, std::uint32_t channel, std::uint32_t strand, std::uint32_t number) const override {
    Step its;
    step(rank, channel, strand, number, its);
    const std::uint32_t peers = ranks_ - 1;
    const double begin = channel * shares_.share + number / ops_ * chunk_;
    const std::uint32_t at = number % ops_ / peers;
    const auto part_of = [&](Rank of) { return of * part_ + begin; };
    const bool first = number % peers == 0;  // the received data are the first that are added to the rank's own data
    switch (kind_) {
      case Kind::all_gather:
        return {{Buffer::input, begin}, {Buffer::output, part_of(stages_[at] == Stage::own ? rank : its.from)}};
      case Kind::reduce_scatter:
        if (its.op == Op::send) return {{Buffer::input, part_of(its.to)}, {}};
        return {first ? Place{Buffer::input, part_of(rank)} : Place{Buffer::output, begin}, {Buffer::output, begin}};
      case Kind::all_reduce:
        if (its.op == Op::send && at == 0) return {{Buffer::input, part_of(its.to)}, {}};
        if (its.op == Op::recv) return {{}, {Buffer::output, part_of(its.from)}};
        return {{its.op == Op::send || !first ? Buffer::output : Buffer::input, part_of(rank)},
                {Buffer::output, part_of(rank)}};
      default:
        return {{Buffer::input, begin}, {Buffer::output, begin}};
    }
  }

 private:
  enum class Stage { own, send, receive, reduce };

  Kind kind_;
  Rank ranks_;
  Rank root_;
  double chunk_;
  Parts parts_;
  double part_;  // stride in bytes between the ranks' parts of the whole buffer
  std::vector<Stage> stages_;
  std::uint32_t ops_ = 1;
  Shares shares_;
};

Hops hops(const machine::SystemSpec& system, Kind kind) {
  return {system.nodes > 1 ? 0 : ways(kind), system.nodes > 1 ? ways(kind) : 0};
}

}  // namespace

constinit const ChannelAlgorithm direct_algorithm{
    .name = "direct",
    .expectation = &libraries::ProtocolSpec::direct,
    .does = [](Kind) { return true; },
    .wrong_machine = nullptr,
    .hops = hops,
    .traffic =
        [](Kind kind, double ranks, double bytes) {
          return kind == Kind::broadcast ? (ranks - 1) * bytes : even_traffic(kind, ranks, bytes);
        },
    .nics_together = false,
    .program = [](const Work& work) -> std::shared_ptr<const ChannelProgram> {
      return std::make_shared<DirectProgram>(work);
    }};

}  // namespace moire::collective
