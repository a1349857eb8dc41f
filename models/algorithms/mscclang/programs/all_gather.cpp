#include <algorithm>

#include "models/algorithms/mscclang/programs/pairs.hpp"

namespace moire::mscclang {

namespace {

using config::Describer;
using ir::Collective;

struct Ring : CommonSpec {
  static constexpr const char* name = "all_gather_ring";
  std::int64_t channels = 1;

  static void describe(Describer<Ring>& d) {
    d.component(name, "All-gather around a ring. In place.");
    describe_common(d);
    d.field("channels", &Ring::channels,
            "Channels over which the chunks of an instance are distributed, each with a thread block")
        .range(1, 32)
        .or_default();
  }
  Options options(const Ranks& ranks) const { return options_of(*this, name, Collective::all_gather, ranks, 1); }
  void write(Program& p, const Ranks& ranks) const {
    const std::int32_t n = ranks.all();
    for (std::int32_t hop = 0; hop + 1 < n; ++hop) {
      for (std::int32_t index = 0; index < n; ++index) {
        p.chunk((index + hop) % n, output, index)
            .copy((index + hop + 1) % n, {.channel = index % static_cast<std::int32_t>(channels)});
      }
    }
  }
};

struct AllPairs : PeersSpec {
  static constexpr const char* name = "all_gather_all_pairs";

  static void describe(Describer<AllPairs>& d) {
    d.component(name, "All-gather in one hop: every GPU sends its part to every other GPU. In place.");
    describe_peers(d);
  }
  Refusal refuse(const Ranks& ranks) const { return at_most(ranks, 512); }
  Options options(const Ranks& ranks) const { return options_of(*this, name, Collective::all_gather, ranks, 1); }
  void write(Program& p, const Ranks& ranks) const { PairsInNodes::among_all(p, ranks, 1, *this).gather(output); }
};

struct RecursiveDoubling : PeersSpec {
  static constexpr const char* name = "all_gather_recursive_doubling";

  static void describe(Describer<RecursiveDoubling>& d) {
    d.component(name,
                "All-gather by exchange: each GPU exchanges everything it has with the GPU at distance 1, 2, 4, ... "
                "For a power of two of GPUs. In place.");
    describe_peers(d);
  }
  Refusal refuse(const Ranks& ranks) const { return power_of_two(ranks); }
  Options options(const Ranks& ranks) const { return options_of(*this, name, Collective::all_gather, ranks, 1); }
  void write(Program& p, const Ranks& ranks) const {
    for (std::int32_t distance = 1; distance < ranks.all(); distance *= 2) {
      for (std::int32_t r = 0; r < ranks.all(); ++r) {
        const std::int32_t peer = r ^ distance;
        p.chunk(r, output, r / distance * distance, distance).copy(peer, with_peer(r, peer, ranks.all()));
      }
    }
  }
};

struct Bruck : CommonSpec {
  static constexpr const char* name = "all_gather_bruck";

  static void describe(Describer<Bruck>& d) {
    d.component(name,
                "All-gather by Bruck's algorithm: each GPU sends the 1, 2, 4, ... parts that it has to the GPU at that "
                "distance before it. For any number of GPUs. Parts are gathered in scratch, beginning with the GPU's "
                "own, and then copied to their places. Out of place.");
    describe_common(d);
  }
  Options options(const Ranks& ranks) const {
    return out_of_place(options_of(*this, name, Collective::all_gather, ranks, 1));
  }
  void write(Program& p, const Ranks& ranks) const {
    const std::int32_t n = ranks.all();
    const Buffer parts = p.scratch("parts");
    for (std::int32_t r = 0; r < n; ++r) p.chunk(r, input, 0).copy(r, parts, 0);
    for (std::int32_t has = 1; has < n; has *= 2) {
      const std::int32_t count = std::min(has, n - has);
      for (std::int32_t r = 0; r < n; ++r) p.chunk(r, parts, 0, count).copy((r + n - has) % n, parts, has);
    }
    // Copies the parts to the output. The parts that arrived in one message are copied by one operation, or by two if
    // their places wrap around the end of the output.
    for (std::int32_t r = 0; r < n; ++r) {
      p.chunk(r, parts, 0).copy(r, output, r);
      for (std::int32_t has = 1; has < n; has *= 2) {
        const std::int32_t end = std::min(2 * has, n);
        const std::int32_t turn = std::clamp(n - r, has, end);
        if (turn > has) p.chunk(r, parts, has, turn - has).copy(r, output, r + has);
        if (end > turn) p.chunk(r, parts, turn, end - turn).copy(r, output, (r + turn) % n);
      }
    }
  }
};

}  // namespace

void add_all_gather(Family& family) {
  family.add<Ring>();
  family.add<AllPairs>();
  family.add<RecursiveDoubling>();
  family.add<Bruck>();
}

}  // namespace moire::mscclang
