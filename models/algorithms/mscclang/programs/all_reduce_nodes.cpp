// All-reduce algorithms that distinguish nodes, and send little data between them.
#include "models/algorithms/mscclang/programs/pairs.hpp"

namespace moire::mscclang {

namespace {

using config::Describer;
using ir::Collective;

// Returns, for a position of a ring, the rank at this position or the index of a chunk.
using Member = std::function<std::int32_t(std::int32_t)>;

// Adds a ring reduce-scatter of `size` members to the program. Afterwards, member i holds the sum of chunk `index(i)`.
void ring_reduce_scatter(Program& p, std::int32_t size, const Member& member, const Member& index) {
  for (std::int32_t i = 0; i < size; ++i) {
    for (std::int32_t hop = 1; hop < size; ++hop) {
      const Chunk sum = p.chunk(member((i + hop) % size), input, index(i));
      p.chunk(member((i + hop + 1) % size), input, index(i)).reduce(sum);
    }
  }
}

// Adds a ring all-gather to the program, which copies chunk `index(i)` of each member i to all members.
void ring_all_gather(Program& p, std::int32_t size, const Member& member, const Member& index) {
  for (std::int32_t i = 0; i < size; ++i) {
    for (std::int32_t hop = 0; hop + 1 < size; ++hop) {
      p.chunk(member((i + hop) % size), input, index(i)).copy(member((i + hop + 1) % size));
    }
  }
}

struct Hierarchical : CommonSpec {
  static constexpr const char* name = "all_reduce_hierarchical";

  static void describe(Describer<Hierarchical>& d) {
    d.component(name,
                "All-reduce by rings: a reduce-scatter inside each node, a reduce-scatter and an all-gather between "
                "the GPUs with the same place in all nodes, and an all-gather inside each node. In place.");
    describe_common(d);
  }
  Options options(const Ranks& ranks) const {
    Options made = options_of(*this, name, Collective::all_reduce, ranks, ranks.all());
    made.replication = Replication::blocked;
    return made;
  }
  void write(Program& p, const Ranks& ranks) const {
    const std::int32_t across = ranks.nodes;
    const std::int32_t gpus = ranks.gpus;
    const auto in_nodes = [&](auto&& ring) {
      for (std::int32_t n = 0; n < across; ++n) {
        for (std::int32_t part = 0; part < across; ++part) {
          ring(
              p, gpus, [&, n](std::int32_t g) { return ranks.of(n, g); },
              [&, part](std::int32_t g) { return g * across + part; });
        }
      }
    };
    const auto between_nodes = [&](auto&& ring) {
      for (std::int32_t g = 0; g < gpus; ++g) {
        ring(
            p, across, [&, g](std::int32_t n) { return ranks.of(n, g); },
            [&, g](std::int32_t n) { return g * across + n; });
      }
    };
    in_nodes(ring_reduce_scatter);
    between_nodes(ring_reduce_scatter);
    between_nodes(ring_all_gather);
    in_nodes(ring_all_gather);
  }
};

struct TwoNodePairs : PeersSpec {
  static constexpr const char* name = "all_reduce_two_node_all_pairs";

  static void describe(Describer<TwoNodePairs>& d) {
    d.component(name,
                "All-reduce on two nodes, in place: a reduce-scatter between all pairs of GPUs of each node, an "
                "exchange of sums with the GPU of the same number in the other node, and an all-gather between all "
                "pairs of each node.");
    describe_peers(d);
  }
  Refusal refuse(const Ranks& ranks) const {
    if (ranks.nodes == 2) return std::nullopt;
    return fmt::format("on {} nodes, but the program is for 2", ranks.nodes);
  }
  Options options(const Ranks& ranks) const {
    Options made = options_of(*this, name, Collective::all_reduce, ranks, ranks.gpus * ranks.gpus);
    made.replication = Replication::blocked;
    made.gather_waits = true;
    return made;
  }
  void write(Program& p, const Ranks& ranks) const {
    const std::int32_t g = ranks.gpus;
    const Buffer parts = p.scratch("parts");
    const Buffer theirs = p.scratch("theirs");
    const PairsInNodes pairs{p, ranks, g, [&](auto from, auto to) { return with_peer(from, to, g + 2); }};
    pairs.scatter(parts);
    pairs.reduce(parts, g);
    for (std::int32_t r = 0; r < ranks.all(); ++r) {
      const std::int32_t first = r % g * g;
      p.chunk(r, input, first, g)
          .copy((r + g) % ranks.all(), theirs, {.send_block = g, .recv_block = g + 1, .channel = r % g % 2});
    }
    for (std::int32_t r = 0; r < ranks.all(); ++r) {
      p.chunk(r, input, r % g * g, g).reduce(p.chunk(r, theirs, 0, g), {.send_block = g + 1});
    }
    pairs.gather();
  }
};

struct TwoDimensional : CommonSpec {
  static constexpr const char* name = "all_reduce_2d";

  static void describe(Describer<TwoDimensional>& d) {
    d.component(name,
                "All-reduce in two dimensions, in place: a reduce-scatter between all pairs of GPUs of each node, a "
                "ring all-reduce between the GPUs of the same number in all nodes, and an all-gather between all pairs "
                "of each node.");
    describe_common(d);
  }
  Options options(const Ranks& ranks) const {
    Options made = options_of(*this, name, Collective::all_reduce, ranks, ranks.all());
    made.replication = Replication::blocked;
    made.gather_waits = true;
    return made;
  }
  void write(Program& p, const Ranks& ranks) const {
    const std::int32_t across = ranks.nodes;
    const std::int32_t gpus = ranks.gpus;
    const Buffer parts = p.scratch("parts");
    const PairsInNodes pairs{p, ranks, across, [](auto, auto) { return Placement{}; }};
    pairs.scatter(parts);
    pairs.reduce(parts, std::min(across, gpus));
    for (std::int32_t g = 0; g < gpus; ++g) {
      for (std::int32_t part = 0; part < across; ++part) {
        const auto hop = [&](std::int32_t h) { return ranks.of((part + h) % across, g); };
        const std::int32_t index = g * across + part;
        for (std::int32_t h = 1; h < across; ++h) {
          p.chunk(hop(h + 1), input, index).reduce(p.chunk(hop(h), input, index));
        }
        for (std::int32_t h = 0; h + 1 < across; ++h) p.chunk(hop(h), input, index).copy(hop(h + 1));
      }
    }
    pairs.gather();
  }
};

}  // namespace

void add_all_reduce_nodes(Family& family) {
  family.add<Hierarchical>();
  family.add<TwoNodePairs>();
  family.add<TwoDimensional>();
}

}  // namespace moire::mscclang
