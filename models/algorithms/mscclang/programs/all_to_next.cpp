// AllToNext: every GPU sends its buffer to the next GPU (or to the previous GPU), as pipeline parallelism does. If the
// two GPUs are in different nodes, all GPUs of both nodes carry a part, so that every NIC is used.
#include "models/algorithms/mscclang/programs/entry.hpp"

namespace moire::mscclang {

namespace {

using config::Describer;
using ir::Collective;

// Sends the buffer of GPU `from` to GPU `to` of another node in as many parts as a node has GPUs. `from` distributes
// the parts in its node, GPU `part` of this node sends its part to GPU `part` of the other node, and `to` collects the
// parts.
void cross(Program& p, const Ranks& ranks, std::int32_t from, std::int32_t to) {
  const std::int32_t here = from / ranks.gpus;
  const std::int32_t there = to / ranks.gpus;
  const Buffer parts = p.scratch(fmt::format("node {} to {}", here, there));
  for (std::int32_t part = 0; part < ranks.gpus; ++part) {
    const Placement placement{.channel = part % 2};
    Chunk chunk = p.chunk(from, input, part);
    if (ranks.of(here, part) != from) chunk = chunk.copy(ranks.of(here, part), parts, 0, placement);
    if (ranks.of(there, part) != to) chunk = chunk.copy(ranks.of(there, part), parts, 0, placement);
    chunk.copy(to, output, part, placement);
  }
}

struct ToNext : CommonSpec {
  Options options_named(const char* name, const Ranks& ranks) const {
    Options made = options_of(*this, name, Collective::custom, ranks, ranks.gpus);
    made.in_place = false;
    return made;
  }
  void write(Program& p, const Ranks& ranks, std::int32_t step) const {
    for (std::int32_t r = 0; r < ranks.all(); ++r) {
      const std::int32_t to = r + step;
      if (to < 0 || to >= ranks.all()) continue;
      if (r / ranks.gpus != to / ranks.gpus) {
        cross(p, ranks, r, to);
      } else {
        p.chunk(r, input, 0, ranks.gpus).copy(to, output, 0, {.channel = r % ranks.gpus % 2});
      }
    }
  }
};

struct Forward : ToNext {
  static constexpr const char* name = "all_to_next_forward";
  static void describe(Describer<Forward>& d) {
    d.component(name,
                "Every GPU sends its buffer to the next GPU; between nodes, all GPUs of both nodes carry a part.");
    describe_common(d);
  }
  Options options(const Ranks& ranks) const { return options_named(name, ranks); }
  void write(Program& p, const Ranks& ranks) const { ToNext::write(p, ranks, 1); }
};

struct Backward : ToNext {
  static constexpr const char* name = "all_to_next_backward";
  static void describe(Describer<Backward>& d) {
    d.component(name,
                "Every GPU sends its buffer to the previous GPU; between nodes, all GPUs of both nodes carry a part.");
    describe_common(d);
  }
  Options options(const Ranks& ranks) const { return options_named(name, ranks); }
  void write(Program& p, const Ranks& ranks) const { ToNext::write(p, ranks, -1); }
};

}  // namespace

void add_all_to_next(Family& family) {
  family.add<Forward>();
  family.add<Backward>();
}

}  // namespace moire::mscclang
