// All-reduce algorithms that treat all GPUs alike, in whichever node they are.
#include <algorithm>

#include "models/algorithms/mscclang/programs/pairs.hpp"

namespace moire::mscclang {

namespace {

using config::Describer;
using ir::Collective;

struct Ring : CommonSpec {
  static constexpr const char* name = "all_reduce_ring";
  std::int64_t channels = 1;

  static void describe(Describer<Ring>& d) {
    d.component(name,
                "All-reduce around a ring with one chunk per GPU: sums travel around the ring once, and results a "
                "second time. In place.");
    describe_common(d);
    d.field("channels", &Ring::channels,
            "Channels over which the chunks of an instance are distributed, each with a thread block")
        .range(1, 32)
        .or_default();
  }
  Options options(const Ranks& ranks) const {
    return options_of(*this, name, Collective::all_reduce, ranks, ranks.all());
  }
  void write(Program& p, const Ranks& ranks) const {
    const std::int32_t n = ranks.all();
    const auto channel = [&](std::int32_t index) {
      return Placement{.channel = index % static_cast<std::int32_t>(channels)};
    };
    for (std::int32_t hop = 0; hop + 1 < n; ++hop) {
      for (std::int32_t index = 0; index < n; ++index) {
        const Chunk sum = p.chunk((index + hop) % n, input, index);
        p.chunk((index + hop + 1) % n, input, index).reduce(sum, channel(index));
      }
    }
    for (std::int32_t hop = n - 1; hop < 2 * n - 2; ++hop) {
      for (std::int32_t index = 0; index < n; ++index) {
        p.chunk((index + hop) % n, input, index).copy((index + hop + 1) % n, channel(index));
      }
    }
  }
};

struct AllPairs : PeersSpec {
  static constexpr const char* name = "all_reduce_all_pairs";

  static void describe(Describer<AllPairs>& d) {
    d.component(name,
                "All-reduce in two hops: GPU j gets the j-th part from every GPU, adds the parts and sends the sum to "
                "all. The parts are cut further, so that as many thread blocks add as there are GPUs. In place.");
    describe_peers(d);
  }
  Refusal refuse(const Ranks& ranks) const { return at_most(ranks, 128); }
  Options options(const Ranks& ranks) const {
    Options made = options_of(*this, name, Collective::all_reduce, ranks, ranks.all() * ranks.all());
    made.replication = Replication::blocked;
    made.gather_waits = true;
    return made;
  }
  void write(Program& p, const Ranks& ranks) const {
    const Buffer parts = p.scratch("parts");
    const auto pairs = PairsInNodes::among_all(p, ranks, ranks.all(), *this);
    pairs.scatter(parts);
    pairs.reduce(parts, ranks.all());
    pairs.gather();
  }
};

struct AllPairsPacked : PeersSpec {
  static constexpr const char* name = "all_reduce_all_pairs_packed";

  static void describe(Describer<AllPairsPacked>& d) {
    d.component(name,
                "All-reduce in two hops with one chunk per GPU: it needs fewer steps than all_reduce_all_pairs, and "
                "several thread blocks make the sum as a tree. In place.");
    describe_peers(d);
  }
  Refusal refuse(const Ranks& ranks) const { return at_most(ranks, 128); }
  Options options(const Ranks& ranks) const {
    Options made = options_of(*this, name, Collective::all_reduce, ranks, ranks.all());
    made.replication = Replication::blocked;
    return made;
  }
  void write(Program& p, const Ranks& ranks) const {
    const std::int32_t n = ranks.all();
    const Buffer parts = p.scratch("parts");
    const auto pairs = PairsInNodes::among_all(p, ranks, 1, *this);
    pairs.scatter(parts);
    for (std::int32_t r = 0; r < n; ++r) {
      const auto summand = [&](std::int32_t i) { return i == 0 ? p.chunk(r, input, r) : p.chunk(r, parts, i - 1); };
      for (std::int32_t open = n; open > 1; open = (open + 1) / 2) {
        const std::int32_t half = (open + 1) / 2;
        for (std::int32_t i = 0; i + half < open; ++i) summand(i).reduce(summand(i + half), {.send_block = i});
      }
    }
    pairs.gather();
  }
};

struct OneStep : PeersSpec {
  static constexpr const char* name = "all_reduce_one_step";

  static void describe(Describer<OneStep>& d) {
    d.component(name,
                "All-reduce in one hop: every GPU sends its whole buffer to every other GPU, and each adds for itself. "
                "For the smallest messages. In place.");
    describe_peers(d);
  }
  Refusal refuse(const Ranks& ranks) const { return at_most(ranks, 64); }
  Options options(const Ranks& ranks) const {
    Options made = options_of(*this, name, Collective::all_reduce, ranks, ranks.all());
    made.replication = Replication::blocked;
    made.gather_waits = true;
    return made;
  }
  void write(Program& p, const Ranks& ranks) const {
    const std::int32_t n = ranks.all();
    const Buffer theirs = p.scratch("theirs");
    PairsInNodes::among_all(p, ranks, n, *this).each([&](std::int32_t, std::int32_t from, std::int32_t to) {
      p.chunk(from, input, 0, n).copy(to, theirs, with_peer(from, to, n));
    });
    for (std::int32_t r = 0; r < n; ++r) {
      for (std::int32_t i = 0; i < n * (n - 1); ++i) {
        p.chunk(r, input, i % n).reduce(p.chunk(r, theirs, i), {.send_block = i % n});
      }
    }
  }
};

struct HalvingDoubling : PeersSpec {
  static constexpr const char* name = "all_reduce_halving_doubling";

  static void describe(Describer<HalvingDoubling>& d) {
    d.component(name,
                "All-reduce by recursive halving (a GPU exchanges half of the data with the GPU half the ranks away, "
                "then a quarter with the GPU a quarter away, ...) and doubling on the way back. For a power of two of "
                "GPUs. In place.");
    describe_peers(d);
  }
  Refusal refuse(const Ranks& ranks) const { return power_of_two(ranks); }
  Options options(const Ranks& ranks) const {
    Options made = options_of(*this, name, Collective::all_reduce, ranks, ranks.all());
    made.replication = Replication::blocked;
    return made;
  }
  void write(Program& p, const Ranks& ranks) const {
    const std::int32_t n = ranks.all();
    for (std::int32_t distance = n / 2; distance >= 1; distance /= 2) {
      for (std::int32_t r = 0; r < n; ++r) {
        const std::int32_t peer = r ^ distance;
        const std::int32_t first = peer / distance * distance;
        p.chunk(peer, input, first, distance).reduce(p.chunk(r, input, first, distance), with_peer(r, peer, n));
      }
    }
    for (std::int32_t distance = 1; distance < n; distance *= 2) {
      for (std::int32_t r = 0; r < n; ++r) {
        const std::int32_t peer = r ^ distance;
        p.chunk(r, input, r / distance * distance, distance).copy(peer, with_peer(r, peer, n));
      }
    }
  }
};

struct Binomial : CommonSpec {
  static constexpr const char* name = "all_reduce_binomial";
  std::int64_t trees = 2;

  static void describe(Describer<Binomial>& d) {
    d.component(name, "All-reduce up and down a binomial tree; with two trees, the second one is mirrored. In place.");
    describe_common(d);
    d.field("trees", &Binomial::trees, "With 2, half of the data takes the mirrored tree").range(1, 2).or_default();
  }
  Refusal refuse(const Ranks& ranks) const { return power_of_two(ranks); }
  Options options(const Ranks& ranks) const {
    return options_of(*this, name, Collective::all_reduce, ranks, static_cast<std::int32_t>(trees));
  }
  void write(Program& p, const Ranks& ranks) const {
    const std::int32_t n = ranks.all();
    for (std::int32_t tree = 0; tree < trees; ++tree) {
      const auto rank = [&](std::int32_t place) { return tree == 0 ? place : n - 1 - place; };
      for (std::int32_t distance = 1; distance < n; distance *= 2) {
        for (std::int32_t at = 0; at < n; at += 2 * distance) {
          p.chunk(rank(at), input, tree).reduce(p.chunk(rank(at + distance), input, tree));
        }
      }
      for (std::int32_t distance = n / 2; distance >= 1; distance /= 2) {
        for (std::int32_t at = 0; at < n; at += 2 * distance) {
          p.chunk(rank(at), input, tree).copy(rank(at + distance));
        }
      }
    }
  }
};

}  // namespace

void add_all_reduce(Family& family) {
  family.add<Ring>();
  family.add<AllPairs>();
  family.add<AllPairsPacked>();
  family.add<OneStep>();
  family.add<HalvingDoubling>();
  family.add<Binomial>();
}

}  // namespace moire::mscclang
