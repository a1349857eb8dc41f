// Rings: each rank forwards to the next rank the data that it received from the previous rank.
#include <algorithm>

#include "models/workload/collective/algorithms.hpp"
#include "models/workload/collective/rings.hpp"
#include "models/workload/collective/shares.hpp"

namespace moire::collective {

namespace {

class RingProgram final : public ChannelProgram {
 public:
  explicit RingProgram(const Work& work)
      : kind_(work.kind),
        ranks_(static_cast<Rank>(work.system.ranks())),
        root_(work.root),
        chunk_(work.chunk),
        copies_own_(work.copies_own),
        parts_(cut(work.bytes, ranks_)),
        piece_bytes_(work.kind == Kind::reduce_scatter ? parts_.each : work.bytes),
        rings_(rings(work.system, work.one_nic)) {
    // `dealt`: the bytes that are dealt to channels. `traffic`: bytes of traffic for each dealt byte.
    double dealt = work.bytes, traffic = 1;
    switch (kind_) {
      case Kind::reduce_scatter:
        dealt = parts_.each;
        [[fallthrough]];
      case Kind::all_gather:
        traffic = ranks_;
        ops_ = ranks_;
        break;
      case Kind::all_reduce:
        traffic = 2;
        ops_ = 2 * ranks_ - 1;
        pieces_ = ranks_;
        break;
      default:  // broadcast
        ops_ = 1;
        break;
    }
    shares_ = deal(dealt, work.channels, std::ceil(work.cell / traffic / 16) * 16);
    loops_.resize(kind_ == Kind::all_reduce ? shares_.channels : 0);
    for (std::uint32_t channel = 0; channel < loops_.size(); ++channel) {
      const double each = chunk_ * ranks_;
      const auto last = static_cast<std::uint32_t>(std::ceil(shares_.of(channel) / each)) - 1;
      loops_[channel] = {last, pieces_of(each), pieces_of(shares_.of(channel) - last * each)};
    }
  }

  std::uint32_t channels() const override { return shares_.channels; }
  std::uint32_t connections() const override { return shares_.channels; }
  Rank sender(Rank rank, std::uint32_t connection) const override { return ring(connection).previous[rank]; }
  Rank receiver(Rank rank, std::uint32_t connection) const override { return ring(connection).next[rank]; }

  bool step(Rank rank, std::uint32_t channel, std::uint32_t, std::uint32_t number, Step& step) const override {
    const std::uint32_t loop = number / ops_;
    const std::uint32_t at = number - loop * ops_;
    const double begin = loop * chunk_ * pieces_;
    const double left = shares_.of(channel) - begin;
    if (left <= 0) return false;
    const Ring& way = ring(channel);
    step.bytes = bytes(way, rank, channel, loop, at);
    step.from = way.previous[rank];
    step.to = way.next[rank];
    step.in = step.out = channel;
    if (kind_ == Kind::broadcast) {
      const Rank behind = (way.position[rank] + ranks_ - way.position[root_]) % ranks_;
      step.op = behind == 0 ? Op::send : behind + 1 < ranks_ ? Op::recv_copy_send : Op::recv;
      step.sent = step.received = loop;
      return true;
    }
    step.op = op(at);
    step.sent = loop * (ops_ - 1) + at;
    step.received = step.sent - 1;
    return true;
  }

  // True if the rings are symmetric under a rotation by `by` ranks and all pieces have the same size.
  bool turns(Rank by) const override {
    if (kind_ == Kind::broadcast || (kind_ == Kind::reduce_scatter && !parts_.all_alike(ranks_))) return false;
    for (std::uint32_t channel = 0; kind_ == Kind::all_reduce && channel < shares_.channels; ++channel) {
      for (const Parts& loop : {loops_[channel].of(0), loops_[channel].of(loops_[channel].last)}) {
        if (loop.of(ranks_ - 1) != loop.of(0)) return false;
      }
    }
    return std::all_of(rings_.begin(), rings_.end(), [&](const Ring& way) {
      for (Rank rank = 0; rank < ranks_; ++rank) {
        if (way.next[(rank + by) % ranks_] != (way.next[rank] + by) % ranks_) return false;
      }
      return true;
    });
  }

  // In each step a rank handles the piece that the previous rank handled one step earlier. An all-gather begins with
  // the piece of the rank's own place in the ring. Reductions begin with the piece of the previous place, so that they
  // end with the rank's own piece.
  Places places(Rank rank, std::uint32_t channel, std::uint32_t, std::uint32_t number) const override {
    const std::uint32_t loop = number / ops_;
    const std::uint32_t at = number % ops_;
    const double from_here = channel * shares_.share + loop * chunk_ * pieces_;
    const Ring& way = ring(channel);
    const Rank place = place_of(way, rank, at);
    switch (kind_) {
      case Kind::all_gather:
        return {{Buffer::input, from_here}, {Buffer::output, way.order[place] * piece_bytes_ + from_here}};
      case Kind::reduce_scatter:
        return {{Buffer::input, way.order[place] * piece_bytes_ + from_here}, {Buffer::output, from_here}};
      case Kind::all_reduce: {
        const double piece = from_here + place * loops_[channel].of(loop).each;
        return {{Buffer::input, piece}, {Buffer::output, piece}};
      }
      default:
        return {{Buffer::input, from_here}, {Buffer::output, from_here}};
    }
  }

 private:
  Rank place_of(const Ring& way, Rank rank, std::uint32_t at) const {
    const std::uint32_t back = kind_ == Kind::all_gather ? at : at + 1;  // at most 2 * ranks_
    Rank place = way.position[rank] + 2 * ranks_ - back;
    while (place >= ranks_) place -= ranks_;  // without a division: a large run comes here for every part of a step
    return place;
  }
  // Returns the pieces, one per rank, of the `covered` bytes of one loop of an all-reduce. Pieces consist of words of
  // 16 B, as in the library.
  Parts pieces_of(double covered) const {
    Parts pieces = cut(covered, ranks_, 16);
    pieces.each = std::min(pieces.each, chunk_);
    return pieces;
  }
  double bytes(const Ring& way, Rank rank, std::uint32_t channel, std::uint32_t loop, std::uint32_t at) const {
    if (kind_ == Kind::all_reduce) return loops_[channel].of(loop).of(place_of(way, rank, at));
    double share = shares_.of(channel);
    if (kind_ == Kind::reduce_scatter) {
      const double part = parts_.of(way.order[place_of(way, rank, at)]);
      share = std::min(share, part - channel * shares_.share);
    }
    return std::clamp(share - loop * chunk_, 0.0, chunk_);
  }
  const Ring& ring(std::uint32_t channel) const { return rings_[channel % static_cast<std::uint32_t>(rings_.size())]; }

  Op op(std::uint32_t at) const {
    switch (kind_) {
      case Kind::all_gather:
        return at == 0 ? (copies_own_ ? Op::copy_send : Op::send) : at + 1 < ops_ ? Op::recv_copy_send : Op::recv;
      case Kind::reduce_scatter:
        return at == 0 ? Op::send : at + 1 < ops_ ? Op::recv_reduce_send : Op::recv_reduce_copy;
      default:  // all-reduce: a reduce-scatter, then an all-gather
        if (at == 0) return Op::send;
        if (at + 1 < ranks_) return Op::recv_reduce_send;
        if (at + 1 == ranks_) return Op::recv_reduce_copy_send;
        return at + 1 < ops_ ? Op::recv_copy_send : Op::recv;
    }
  }

  Kind kind_;
  Rank ranks_;
  Rank root_;
  double chunk_;
  bool copies_own_;
  Parts parts_;
  double piece_bytes_;  // all-gather and reduce-scatter: stride between the ranks' parts of the whole buffer
  std::vector<Ring> rings_;
  std::uint32_t ops_ = 1;     // steps of a loop
  std::uint32_t pieces_ = 1;  // chunks that a loop covers
  Shares shares_;
  struct Loops {
    std::uint32_t last = 0;  // the last loop's number
    Parts whole, rest;
    const Parts& of(std::uint32_t loop) const { return loop < last ? whole : rest; }
  };
  std::vector<Loops> loops_;  // all-reduce only, by channel
};

Hops hops(const machine::SystemSpec& system, Kind kind) {
  const auto ranks = static_cast<double>(system.ranks());
  const auto nodes = static_cast<double>(system.nodes);
  return {ways(kind) * (ranks - nodes), ways(kind) * (nodes - 1)};
}

}  // namespace

constinit const ChannelAlgorithm ring_algorithm{
    .name = "ring",
    .expectation = &libraries::ProtocolSpec::ring,
    .does = [](Kind) { return true; },
    .wrong_machine = nullptr,
    .hops = hops,
    .traffic = even_traffic,
    .nics_together = true,
    .program = [](const Work& work) -> std::shared_ptr<const ChannelProgram> {
      return std::make_shared<RingProgram>(work);
    }};

}  // namespace moire::collective
