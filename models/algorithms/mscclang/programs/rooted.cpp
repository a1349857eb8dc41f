// Broadcast from rank 0 and reduction to rank 0.
#include "models/algorithms/mscclang/programs/entry.hpp"

namespace moire::mscclang {

namespace {

using config::Describer;
using ir::Collective;

template <class Spec>
void describe_chunks(Describer<Spec>& d) {
  d.field("chunks", &Spec::chunks, "Chunks that are sent one after the other").range(1, 128).or_default();
}

struct BroadcastChain : CommonSpec {
  static constexpr const char* name = "broadcast_chain";
  std::int64_t chunks = 4;

  static void describe(Describer<BroadcastChain>& d) {
    d.component(name, "Broadcast of rank 0's buffer from GPU to GPU, in chunks. Out of place.");
    describe_common(d);
    describe_chunks(d);
  }
  Options options(const Ranks& ranks) const {
    return out_of_place(options_of(*this, name, Collective::broadcast, ranks, static_cast<std::int32_t>(chunks)));
  }
  void write(Program& p, const Ranks& ranks) const {
    for (std::int32_t i = 0; i < chunks; ++i) {
      Chunk chunk = p.chunk(0, input, i);
      chunk.copy(0, output, i);
      for (std::int32_t r = 1; r < ranks.all(); ++r) chunk = chunk.copy(r, output, i);
    }
  }
};

struct BroadcastChainEncoded : CommonSpec {
  static constexpr const char* name = "broadcast_chain_encoded";
  std::int64_t chunks = 4;
  std::int64_t coders = 1;

  static void describe(Describer<BroadcastChainEncoded>& d) {
    d.component(
        name,
        "Broadcast of rank 0's buffer from GPU to GPU, in chunks that rank 0 encodes and every other GPU forwards "
        "as they are and decodes for itself. Out of place.");
    describe_common(d);
    describe_chunks(d);
    d.field("coders", &BroadcastChainEncoded::coders,
            "Thread blocks of an instance that encode or decode the chunks in turn, besides the one that forwards them")
        .range(1, 128)
        .or_default();
  }
  Options options(const Ranks& ranks) const {
    Options made = options_of(*this, name, Collective::broadcast, ranks, static_cast<std::int32_t>(chunks));
    made.blocks = Blocks::manual;
    return out_of_place(made);
  }
  void write(Program& p, const Ranks& ranks) const {
    const Buffer encoded = p.scratch("encoded");
    const Placement forwarder{.send_block = 0, .recv_block = 0};
    for (std::int32_t i = 0; i < chunks; ++i) {
      const Placement coder{.send_block = 1 + i % static_cast<std::int32_t>(coders)};
      Chunk chunk = p.chunk(0, input, i).encode(encoded, i, coder);
      p.chunk(0, input, i).copy(0, output, i, coder);
      for (std::int32_t r = 1; r < ranks.all(); ++r) {
        chunk = chunk.copy(r, encoded, i, forwarder);
        chunk.decode(output, i, coder);
      }
    }
  }
};

struct BroadcastBinomial : CommonSpec {
  static constexpr const char* name = "broadcast_binomial";
  std::int64_t chunks = 1;

  static void describe(Describer<BroadcastBinomial>& d) {
    d.component(name,
                "Broadcast of rank 0's buffer down a binomial tree: the first hop is the longest, and each next one is "
                "half as long. Out of place.");
    describe_common(d);
    describe_chunks(d);
  }
  Options options(const Ranks& ranks) const {
    return out_of_place(options_of(*this, name, Collective::broadcast, ranks, static_cast<std::int32_t>(chunks)));
  }
  void write(Program& p, const Ranks& ranks) const {
    const std::int32_t n = ranks.all();
    std::int32_t top = 1;
    while (2 * top < n) top *= 2;
    for (std::int32_t i = 0; i < chunks; ++i) {
      p.chunk(0, input, i).copy(0, output, i);
      for (std::int32_t distance = top; distance >= 1; distance /= 2) {
        for (std::int32_t at = 0; at + distance < n; at += 2 * distance) {
          p.chunk(at, at == 0 ? input : output, i).copy(at + distance, output, i);
        }
      }
    }
  }
};

struct ReduceChain : CommonSpec {
  static constexpr const char* name = "reduce_chain";
  std::int64_t chunks = 4;

  static void describe(Describer<ReduceChain>& d) {
    d.component(name, "Sum of all buffers at rank 0, passed from GPU to GPU, in chunks. In place.");
    describe_common(d);
    describe_chunks(d);
  }
  Options options(const Ranks& ranks) const {
    return options_of(*this, name, Collective::reduce, ranks, static_cast<std::int32_t>(chunks));
  }
  void write(Program& p, const Ranks& ranks) const {
    for (std::int32_t i = 0; i < chunks; ++i) {
      for (std::int32_t r = ranks.all() - 1; r > 0; --r) p.chunk(r - 1, input, i).reduce(p.chunk(r, input, i));
    }
  }
};

}  // namespace

void add_rooted(Family& family) {
  family.add<BroadcastChain>();
  family.add<BroadcastChainEncoded>();
  family.add<BroadcastBinomial>();
  family.add<ReduceChain>();
}

}  // namespace moire::mscclang
