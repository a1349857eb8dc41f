#include "models/algorithms/mscclang/programs/pairs.hpp"

namespace moire::mscclang {

namespace {

using config::Describer;
using ir::Collective;

struct Ring : CommonSpec {
  static constexpr const char* name = "reduce_scatter_ring";
  std::int64_t channels = 1;

  static void describe(Describer<Ring>& d) {
    d.component(name, "Reduce-scatter around a ring. In place.");
    describe_common(d);
    d.field("channels", &Ring::channels, "Chunks that a GPU's part is cut into, each with its own channel")
        .range(1, 32)
        .or_default();
  }
  Options options(const Ranks& ranks) const {
    return options_of(*this, name, Collective::reduce_scatter, ranks, static_cast<std::int32_t>(channels));
  }
  void write(Program& p, const Ranks& ranks) const {
    const std::int32_t n = ranks.all();
    const auto parts = static_cast<std::int32_t>(channels);
    for (std::int32_t hop = 1; hop < n; ++hop) {
      for (std::int32_t index = 0; index < n * parts; ++index) {
        const Chunk sum = p.chunk((index / parts + hop) % n, input, index);
        p.chunk((index / parts + hop + 1) % n, input, index).reduce(sum, {.channel = index % parts});
      }
    }
  }
};

struct AllPairs : PeersSpec {
  static constexpr const char* name = "reduce_scatter_all_pairs";

  static void describe(Describer<AllPairs>& d) {
    d.component(name,
                "Reduce-scatter in one hop: every GPU gets its part from every other GPU, and as many thread blocks "
                "add as there are GPUs. In place.");
    describe_peers(d);
  }
  Refusal refuse(const Ranks& ranks) const { return at_most(ranks, 128); }
  Options options(const Ranks& ranks) const {
    Options made = options_of(*this, name, Collective::reduce_scatter, ranks, ranks.all());
    made.gather_waits = true;
    return made;
  }
  void write(Program& p, const Ranks& ranks) const {
    const Buffer parts = p.scratch("parts");
    const auto pairs = PairsInNodes::among_all(p, ranks, ranks.all(), *this);
    pairs.scatter(parts);
    pairs.reduce(parts, ranks.all());
  }
};

struct Halving : PeersSpec {
  static constexpr const char* name = "reduce_scatter_halving";

  static void describe(Describer<Halving>& d) {
    d.component(name, "Reduce-scatter by recursive halving. For a power of two of GPUs. In place.");
    describe_peers(d);
  }
  Refusal refuse(const Ranks& ranks) const { return power_of_two(ranks); }
  Options options(const Ranks& ranks) const { return options_of(*this, name, Collective::reduce_scatter, ranks, 1); }
  void write(Program& p, const Ranks& ranks) const {
    for (std::int32_t distance = ranks.all() / 2; distance >= 1; distance /= 2) {
      for (std::int32_t r = 0; r < ranks.all(); ++r) {
        const std::int32_t peer = r ^ distance;
        const std::int32_t first = peer / distance * distance;
        p.chunk(peer, input, first, distance)
            .reduce(p.chunk(r, input, first, distance), with_peer(r, peer, ranks.all()));
      }
    }
  }
};

}  // namespace

void add_reduce_scatter(Family& family) {
  family.add<Ring>();
  family.add<AllPairs>();
  family.add<Halving>();
}

}  // namespace moire::mscclang
