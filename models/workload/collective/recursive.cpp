// Recursive halving and doubling: in step k a rank exchanges data with the rank whose number differs in bit k.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <vector>

#include "models/workload/collective/algorithms.hpp"
#include "models/workload/collective/shares.hpp"
#include "sim/core/invariant.hpp"

namespace moire::collective {

namespace {

class RecursiveProgram final : public ChannelProgram {
 public:
  explicit RecursiveProgram(const Work& work)
      : ranks_(static_cast<Rank>(work.system.ranks())),
        chunk_(work.chunk),
        kind_(work.kind),
        part_(work.kind == Kind::all_gather ? work.bytes : cut(work.bytes, ranks_).each),
        copies_own_(work.kind == Kind::all_gather && work.copies_own) {
    const auto bits = static_cast<std::uint32_t>(std::countr_zero(ranks_));
    // A rank's own part, the smallest amount of data that is exchanged, is dealt to the channels.
    shares_ =
        deal(part_, work.channels, std::ceil(work.cell / (work.kind == Kind::all_reduce ? 2. : 1.) / ranks_ / 16) * 16);
    if (work.kind != Kind::all_gather) {
      for (std::uint32_t k = bits; k-- > 0;) add(k, Op::recv_reduce_copy);
    }
    if (work.kind != Kind::reduce_scatter) {
      for (std::uint32_t k = 0; k < bits; ++k) add(k, Op::recv);
    }
    bits_ = bits;
  }

  std::uint32_t channels() const override { return shares_.channels; }
  std::uint32_t connections() const override { return shares_.channels * bits_; }
  Rank sender(Rank rank, std::uint32_t connection) const override { return rank ^ 1U << connection % bits_; }
  Rank receiver(Rank rank, std::uint32_t connection) const override { return sender(rank, connection); }

  // Sends and receives alternate chunk by chunk. If both ranks of a pair sent all their chunks first, they could wait
  // for each other at full FIFOs.
  bool step(Rank rank, std::uint32_t channel, std::uint32_t, std::uint32_t number, Step& step) const override {
    const double share = shares_.of(channel);
    if (copies_own_) {
      if (number == 0) {
        step.op = Op::copy;
        step.bytes = share;
        return true;
      }
      --number;
    }
    for (const Exchange& exchange : exchanges_) {
      const double all = share * static_cast<double>(1U << exchange.bit);
      const auto chunks = static_cast<std::uint32_t>(std::ceil(all / chunk_));
      if (number < 2 * chunks) {
        const std::uint32_t chunk = number / 2;
        step.op = number % 2 == 0 ? Op::send : exchange.op;
        step.bytes = std::min(chunk_, all - chunk * chunk_);
        step.from = step.to = rank ^ 1U << exchange.bit;
        step.in = step.out = channel * bits_ + exchange.bit;
        step.sent = step.received = (exchange.second ? chunks : 0) + chunk;
        return true;
      }
      number -= 2 * chunks;
    }
    return false;
  }

  // Works only for one channel, because with several channels the bytes of one channel are not contiguous. Partial sums
  // are kept in the output, or in scratch if the output holds only the rank's own part (reduce-scatter).
  Places places(Rank rank, std::uint32_t channel, std::uint32_t, std::uint32_t number) const override {
    MOIRE_INVARIANT(shares_.channels == 1, "chunks of several channels are strided");
    if (copies_own_ && number-- == 0) return {{Buffer::input, 0}, {Buffer::output, rank * part_}};
    const Buffer sums = kind_ == Kind::reduce_scatter ? Buffer::scratch : Buffer::output;
    for (std::size_t e = 0; e < exchanges_.size(); ++e) {
      const Exchange& exchange = exchanges_[e];
      const double all = shares_.of(channel) * static_cast<double>(1U << exchange.bit);
      const auto chunks = static_cast<std::uint32_t>(std::ceil(all / chunk_));
      if (number >= 2 * chunks) {
        number -= 2 * chunks;
        continue;
      }
      const Rank peer = rank ^ 1U << exchange.bit;
      const auto begin = [&](Rank of) { return (of >> exchange.bit << exchange.bit) * part_ + number / 2 * chunk_; };
      if (exchange.op == Op::recv) return {{Buffer::output, begin(rank)}, {Buffer::output, begin(peer)}};
      const bool last = kind_ == Kind::reduce_scatter && e + 1 == exchanges_.size();
      const Buffer from = e == 0 ? Buffer::input : sums;
      return {{from, begin(number % 2 == 0 ? peer : rank)},
              last ? Place{Buffer::output, number / 2 * chunk_} : Place{sums, begin(rank)}};
    }
    return {};
  }

 private:
  struct Exchange {
    std::uint32_t bit;
    Op op;
    bool second;  // true for the second exchange with the same rank (all-reduce)
  };

  void add(std::uint32_t bit, Op op) {
    const bool again =
        std::any_of(exchanges_.begin(), exchanges_.end(), [=](const Exchange& e) { return e.bit == bit; });
    exchanges_.push_back({bit, op, again});
  }

  Rank ranks_;
  double chunk_;
  Kind kind_;
  double part_;  // bytes of a rank's part of the whole buffer, which is padded to equal parts
  bool copies_own_;
  std::uint32_t bits_ = 0;
  std::vector<Exchange> exchanges_;
  Shares shares_;
};

Hops hops(const machine::SystemSpec& system, Kind kind) {
  const double all = doublings(system.ranks()), between = doublings(system.nodes);
  return {ways(kind) * (all - between), ways(kind) * between};
}

std::optional<std::string> wrong_machine(const machine::SystemSpec& system) {
  if (std::has_single_bit(static_cast<std::uint64_t>(system.ranks()))) return std::nullopt;
  return fmt::format("recursive halving and doubling needs a power of two of ranks, not {}", system.ranks());
}

}  // namespace

constinit const ChannelAlgorithm recursive_algorithm{
    .name = "recursive",
    .expectation = &libraries::ProtocolSpec::recursive,
    .does = [](Kind kind) { return kind != Kind::broadcast; },
    .wrong_machine = wrong_machine,
    .hops = hops,
    .traffic = even_traffic,
    .nics_together = false,
    .program = [](const Work& work) -> std::shared_ptr<const ChannelProgram> {
      return std::make_shared<RecursiveProgram>(work);
    }};

}  // namespace moire::collective
