#include "models/algorithms/mscclang/programs/entry.hpp"

namespace moire::mscclang {

namespace {

using config::Describer;
using ir::Collective;

Options options_for(const CommonSpec& spec, const char* name, const Ranks& ranks) {
  return out_of_place(options_of(spec, name, Collective::all_to_all, ranks, 1));
}

struct OneStep : CommonSpec {
  static constexpr const char* name = "all_to_all_one_step";

  static void describe(Describer<OneStep>& d) {
    d.component(name, "All-to-All by direct messages between all pairs. Out of place.");
    describe_common(d);
  }
  Options options(const Ranks& ranks) const { return options_for(*this, name, ranks); }
  void write(Program& p, const Ranks& ranks) const {
    for (std::int32_t from = 0; from < ranks.all(); ++from) {
      for (std::int32_t to = 0; to < ranks.all(); ++to) p.chunk(from, input, to).copy(to, output, from);
    }
  }
};

// Copies the chunks that stay inside a node.
void exchange_in_nodes(Program& p, const Ranks& ranks, Placement placement) {
  for (std::int32_t n = 0; n < ranks.nodes; ++n) {
    for (std::int32_t from = 0; from < ranks.gpus; ++from) {
      for (std::int32_t to = 0; to < ranks.gpus; ++to) {
        p.chunk(ranks.of(n, from), input, ranks.of(n, to)).copy(ranks.of(n, to), output, ranks.of(n, from), placement);
      }
    }
  }
}

struct TwoStep : CommonSpec {
  static constexpr const char* name = "all_to_all_two_step";

  static void describe(Describer<TwoStep>& d) {
    d.component(name,
                "All-to-All in two steps: inside a node, GPU g gathers what all GPUs of the node have for GPU g of "
                "another node, and then sends it as one message. Out of place.");
    describe_common(d);
  }
  Options options(const Ranks& ranks) const { return options_for(*this, name, ranks); }
  void write(Program& p, const Ranks& ranks) const {
    const std::int32_t across = ranks.nodes;
    const std::int32_t gpus = ranks.gpus;
    const auto buffer = [&](std::int32_t to) { return p.scratch(fmt::format("for node {}", to)); };
    for (std::int32_t n = 0; n < across; ++n) {
      for (std::int32_t turn = 1; turn < across; ++turn) {
        const std::int32_t to = (n + turn) % across;
        for (std::int32_t from = 0; from < gpus; ++from) {
          for (std::int32_t g = 0; g < gpus; ++g) {
            p.chunk(ranks.of(n, from), input, ranks.of(to, g)).copy(ranks.of(n, g), buffer(to), from);
          }
        }
      }
      for (std::int32_t turn = 1; turn < across; ++turn) {
        const std::int32_t to = (n + turn) % across;
        for (std::int32_t g = 0; g < gpus; ++g) {
          // Distributes the pairs of nodes among channels. Neighbouring GPUs, which may share a NIC, use different
          // channels.
          const Placement spread{.channel = (n + to) % gpus * 2 % 28 + ranks.of(n, g) % 2 + 2};
          p.chunk(ranks.of(n, g), buffer(to), 0, gpus).copy(ranks.of(to, g), output, ranks.of(n, 0), spread);
        }
      }
    }
    exchange_in_nodes(p, ranks, {});
  }
};

struct ThreeStep : CommonSpec {
  static constexpr const char* name = "all_to_all_three_step";

  static void describe(Describer<ThreeStep>& d) {
    d.component(
        name,
        "All-to-All in three steps: for every pair of nodes, one GPU gathers all data that the two nodes exchange and "
        "sends them as one message, and the GPU that receives the message distributes it. Out of place.");
    describe_common(d);
  }
  Options options(const Ranks& ranks) const { return options_for(*this, name, ranks); }
  void write(Program& p, const Ranks& ranks) const {
    const std::int32_t across = ranks.nodes;
    const std::int32_t gpus = ranks.gpus;
    // Returns the GPU of `node` that carries the traffic with node `other`.
    const auto porter = [&](std::int32_t node, std::int32_t other) {
      return ranks.of(node, (node > other ? other : other - 1) % gpus);
    };
    const auto buffer = [&](std::int32_t from, std::int32_t to) {
      return p.scratch(fmt::format("node {} to {}", from, to));
    };
    for (std::int32_t from = 0; from < across; ++from) {
      for (std::int32_t g = 0; g < gpus; ++g) {
        for (std::int32_t to = 0; to < across; ++to) {
          if (from == to) continue;
          p.chunk(ranks.of(from, g), input, ranks.of(to, 0), gpus)
              .copy(porter(from, to), buffer(from, to), g * gpus, {.channel = 0});
        }
      }
    }
    exchange_in_nodes(p, ranks, {.channel = 0});
    for (std::int32_t from = 0; from < across; ++from) {
      for (std::int32_t to = 0; to < across; ++to) {
        if (from == to) continue;
        const std::int32_t sender = porter(from, to);
        const std::int32_t receiver = porter(to, from);
        p.chunk(sender, buffer(from, to), 0, gpus * gpus).copy(receiver, buffer(from, to), 0, {.channel = sender % 2});
        for (std::int32_t i = 0; i < gpus * gpus; ++i) {
          p.chunk(receiver, buffer(from, to), i)
              .copy(ranks.of(to, i % gpus), output, ranks.of(from, i / gpus), {.channel = 1});
        }
      }
    }
  }
};

}  // namespace

void add_all_to_all(Family& family) {
  family.add<OneStep>();
  family.add<TwoStep>();
  family.add<ThreeStep>();
}

}  // namespace moire::mscclang
