// Tests the ring collectives chunked_all_gather, chunked_reduce_scatter and chunked_all_reduce.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <random>

#include "models/workload/codec/kernels.hpp"
#include "tests/support/chunked_program.hpp"
#include "tests/support/example_codec.hpp"

namespace moire::chunked {
namespace {

using codec::Work;
using ::testing::HasSubstr;

std::string ring(const std::string& kind, double bytes, const std::string& keys) {
  return fmt::format("{{chunked_{}: {{bytes_per_rank: {} B, {}}}}}", kind, bytes, keys);
}

constexpr const char* kinds[] = {"all_gather", "reduce_scatter", "all_reduce"};

// --- What the operations do

TEST(ChunkedRing, BytesAndCallsAreThoseOfTheRing) {
  std::mt19937 random(29);
  for (int i = 0; i < 120; ++i) {
    const auto nodes = static_cast<Rank>(1 + random() % 4), gpus = static_cast<Rank>(1 + random() % 4);
    const Rank ranks = nodes * gpus;
    if (ranks < 2) continue;
    const std::string kind = kinds[random() % 3];
    const bool sums = kind != "all_gather", gathers = kind != "reduce_scatter";
    const auto chunks = static_cast<std::int64_t>(1 + random() % 5);
    const auto share = chunks + static_cast<std::int64_t>(random() % 100000);
    const auto bytes = static_cast<double>(share * (sums ? ranks : 1));  // even shares
    const std::string compression = std::array{"off", "every_hop", "root"}[random() % (gathers ? 3 : 2)];
    const bool between = compression == "every_hop" && random() % 2 == 0;
    std::string keys = fmt::format("chunks: {}, streams: {}, between_nodes: {}", chunks, 1 + random() % 3, between);
    if (compression != "off") keys += ", " + by_codec(compression, codec::example_codec(2, 10, 1));
    SCOPED_TRACE(fmt::format("{} of {} B on {} x {}: {}", kind, bytes, nodes, gpus, keys));
    const EquippedSystem system = example_equipped(gpus, nodes);
    const Built built = build(ring(kind, bytes, keys), system);
    ASSERT_EQ(built.errors, "");
    const Walk all = walk(*built.program);
    for (const auto& [flag, target] : all.awaited) EXPECT_EQ(all.raised.at(flag), target);
    const std::int64_t hops = (ranks - 1) * chunks;  // chunks that a rank sends in one of the two phases
    double between_nodes = 0;
    for (Rank rank = 0; rank < ranks; ++rank) {
      const Rank next = (rank + 1) % ranks;
      const bool leaves = rank / gpus != next / gpus;
      const bool coded = compression != "off" && (!between || leaves);
      const double sent = static_cast<double>(share * (ranks - 1) * (sums && gathers ? 2 : 1)) / (coded ? 2 : 1);
      ASSERT_EQ(all.bytes.count({rank, next}), 1u);
      EXPECT_NEAR(all.bytes.at({rank, next}), sent, coded ? 2. * static_cast<double>(hops) : 0);
      if (leaves) between_nodes += all.bytes.at({rank, next});
      if (between) continue;  // the first and last GPU of a node make other calls
      const bool once = compression == "root", every = compression == "every_hop";
      EXPECT_EQ(all.count(rank, "reduce"), sums && compression == "off" ? hops : 0);
      // Every hop of a reduction except the first uses the fused kernel. The last hop uses it only with compression
      // root, where the complete sum is forwarded compressed.
      EXPECT_EQ(all.count(rank, "decompress_reduce_compress"),
                !sums || compression == "off" ? 0 : hops - (once ? 0 : chunks));
      EXPECT_EQ(all.count(rank, "decompress_reduce"), sums && every ? chunks : 0);
      const std::int64_t first = once || every ? chunks : 0;  // calls that compress the rank's own data
      EXPECT_EQ(all.count(rank, "compress"), sums ? first + (gathers && every ? hops : 0) : every ? hops : first);
      EXPECT_EQ(all.count(rank, "decompress"),
                !gathers || compression == "off" ? 0 : hops + (sums && once ? chunks : 0));
    }
    EXPECT_EQ(std::ssize(all.bytes), ranks);
    const replay::Result result = replay::run(system, *built.program);
    EXPECT_EQ(result.deadlock, "");
    EXPECT_EQ(result.traffic.put_bytes.value, between_nodes);
  }
}

// --- Closed forms. All ranks work at the same time, and each rank is on a node of its own.

double alone(const EquippedSystem& system, Work work, double bytes, const std::string& text) {
  config::Diagnostics diagnostics;
  const auto root = config::load_text("codec.yaml", codec::codec_sources + text, {}, diagnostics);
  const auto codec = config::parse<codec::CodecSpec>(*root, diagnostics);
  EXPECT_EQ(diagnostics.str(), "");
  program::Program program(static_cast<Rank>(system.ranks()));
  program::Queue& queue = program.queues.emplace_back();
  queue.name = "main";
  const builder::Builder build{system, program, queue};
  for (program::Kernel& kernel : codec::make_kernels(build, *codec, work, {{bytes, codec->ratio}}, "alone"))
    queue.operations.emplace_back(std::move(kernel));
  return replay::run(system, program).end.seconds();
}

struct Stages {
  Pipeline p;
  double compress, decompress, adds, fused, sum;
  Stages(Rank ranks, std::int64_t chunks, double share, const std::string& codec)
      : p(pipeline(ranks, chunks, share)),
        compress(alone(p.system, Work::compress, p.chunk, codec)),
        decompress(alone(p.system, Work::decompress, p.chunk, codec)),
        adds(alone(p.system, Work::decompress_reduce, p.chunk, codec)),
        fused(alone(p.system, Work::decompress_reduce_compress, p.chunk, codec)),
        sum(run(fmt::format("{{stream: {{inputs: 2, bytes: {} B, schedule: grid_stride}}}}", p.chunk), p.system)
                .end.seconds()) {}
  double time(const std::string& kind, double share, const std::string& keys) const {
    const double bytes = share * (kind == "all_gather" ? 1 : p.ranks);
    return run(ring(kind, bytes, fmt::format("chunks: {}, {}", p.chunks, keys)), p.system).end.seconds();
  }
};

constexpr double share = 1 << 24;

TEST(ChunkedRing, PlainTakesItsHopsAndSums) {
  for (const Rank ranks : {2, 3, 8}) {
    for (const std::int64_t chunks : {1, 4, 16}) {
      SCOPED_TRACE(fmt::format("{} ranks, {} chunks", ranks, chunks));
      const Stages s(ranks, chunks, share, codec::example_codec(4));
      const double hops = (s.p.ranks - 1) * s.p.chunks, a = s.p.hop();
      const double gather = s.time("all_gather", share, ""), scatter = s.time("reduce_scatter", share, "");
      const double reduce = s.time("all_reduce", share, "");
      EXPECT_NEAR(gather, hops * a, 1e-3 * gather);
      // A sum alone begins with an idle memory. Beside copies, its first loads wait less or more, by a latency at most.
      const double wait = hops * s.p.system.node.gpu.hbm.unloaded_latency.seconds();
      EXPECT_NEAR(scatter, hops * (a + s.sum), 1e-3 * scatter + wait);
      EXPECT_NEAR(reduce, hops * (a + s.sum + a), 1e-3 * reduce + wait);
    }
  }
}

TEST(ChunkedRing, EveryHopTakesItsCallsInARow) {
  for (const Rank ranks : {2, 3, 8}) {
    for (const std::int64_t chunks : {1, 4, 16}) {
      SCOPED_TRACE(fmt::format("{} ranks, {} chunks", ranks, chunks));
      const std::string codec = codec::example_codec(4, 100, 5);
      const Stages s(ranks, chunks, share, codec);
      const std::string keys = by_codec("every_hop", codec);
      const double hops = (s.p.ranks - 1) * s.p.chunks, a = s.p.hop(4);
      const double all_gather = hops * (s.compress + a + s.decompress);
      const double scatter = s.p.chunks * (s.compress + (s.p.ranks - 2) * s.fused + s.adds) + hops * a;
      EXPECT_NEAR(s.time("all_gather", share, keys), all_gather, 1e-3 * all_gather);
      EXPECT_NEAR(s.time("reduce_scatter", share, keys), scatter, 1e-3 * scatter);
      EXPECT_NEAR(s.time("all_reduce", share, keys), scatter + all_gather, 1e-3 * (scatter + all_gather));
    }
  }
}

TEST(ChunkedRing, OnceAtTheOwnerTakesAPipeline) {
  for (const Rank ranks : {2, 3, 8}) {
    for (const std::int64_t chunks : {1, 4, 16}) {
      SCOPED_TRACE(fmt::format("{} ranks, {} chunks", ranks, chunks));
      const std::string codec = codec::example_codec(4, 5, 5);
      const Stages s(ranks, chunks, share, codec);
      const std::string keys = by_codec("root", codec);
      const double hops = (s.p.ranks - 1) * s.p.chunks, a = s.p.hop(4);
      ASSERT_LT(2 * std::max(s.compress, s.decompress), a) << "the link is the slowest stage";
      const double gather = s.compress + hops * a + s.decompress;
      EXPECT_NEAR(s.time("all_gather", share, keys), gather, 1e-3 * gather);
      // After `reduction`, a rank has sent its last partial sum. Its first complete sum takes one more fused call. Then
      // the sends of all sums follow each other without a gap.
      const double reduction = s.p.chunks * (s.compress + (s.p.ranks - 2) * s.fused) + hops * a;
      const double reduce = reduction + s.fused + hops * a + s.decompress;
      EXPECT_NEAR(s.time("all_reduce", share, keys), reduce, 1e-3 * reduce);
    }
  }
}

TEST(ChunkedRing, ASlowCodecIsTheStageThatCounts) {
  const std::string codec = codec::example_codec(4, 2000, 5);
  const Stages s(5, 4, share, codec);
  ASSERT_GT(s.decompress, 2 * s.p.hop(4));
  // A rank decompresses the chunks of 4 other ranks one by one, from the first arrival on.
  const double gather = s.compress + s.p.hop(4) + 16 * s.decompress;
  const double taken = s.time("all_gather", share, by_codec("root", codec));
  EXPECT_GT(taken, gather);
  EXPECT_LT(taken, gather + 4 * s.compress) << "at the same time, the rank compresses its own chunks";
}

// --- Loss, sizes, keys

TEST(ChunkedRing, LossyHopsAndTheirBound) {
  const auto stated = [](const std::string& kind, const EquippedSystem& system, const std::string& keys) {
    config::Diagnostics diagnostics;
    const auto root = config::load_text("t.yaml", codec::codec_sources + fmt::format("a: {}\n", ring(kind, 1e6, keys)),
                                        {}, diagnostics);
    const builder::Operator* op = operators::find("chunked_" + kind);
    std::map<std::string, double> all;
    for (const auto& [name, value] : op->exchange(*root->find("a")->find("chunked_" + kind), system).stated)
      all[name] = value;
    return all;
  };
  const std::string codec = codec::example_codec(4);  // its error bound is 0.001
  const EquippedSystem eight = example_equipped(4, 2);
  const auto expect = [&](const std::string& kind, const std::string& keys, double passes) {
    auto all = stated(kind, eight, keys);
    EXPECT_EQ(all["<operation>_lossy_hops"], passes) << kind << " " << keys;
    EXPECT_NEAR(all["<operation>_error_bound"], std::pow(1.001, passes) - 1, 1e-12);
    EXPECT_NEAR(all["<operation>_ratio"], 4, 1e-4);
  };
  expect("all_gather", by_codec("root", codec), 1);
  expect("all_gather", by_codec("every_hop", codec), 7);
  expect("reduce_scatter", by_codec("every_hop", codec), 7);
  expect("all_reduce", by_codec("every_hop", codec), 14);
  expect("all_reduce", by_codec("root", codec), 8);
  // Two hops of the ring lead to another node. A share that starts in the middle of a node passes both of them.
  expect("all_gather", "between_nodes: true, " + by_codec("every_hop", codec), 2);
  expect("all_reduce", "between_nodes: true, " + by_codec("every_hop", codec), 4);
  EXPECT_TRUE(stated("all_reduce", eight, "chunks: 2").empty());
}

TEST(ChunkedRing, AnySizeAndNumberOfRanksRuns) {
  for (const char* kind : kinds) {
    for (const Rank ranks : {2, 3, 5, 7}) {
      for (const double bytes : {1., 2., 3., 6., 7., 4097.}) {
        for (const char* compression : {"off", "every_hop", "root"}) {
          if (kind == std::string("reduce_scatter") && compression == std::string("root")) continue;
          const bool off = compression == std::string("off");
          const std::string keys = off ? "" : by_codec(compression, codec::example_codec(3, 10, 1));
          SCOPED_TRACE(fmt::format("{} of {} B, {} ranks, {}", kind, bytes, ranks, compression));
          EXPECT_GT(run(ring(kind, bytes, keys), example_equipped(ranks)).end, Time{});
        }
      }
    }
  }
}

TEST(ChunkedRing, TheChunksThatItChoosesAreNotFarFromTheBest) {
  for (const char* kind : kinds) {
    for (const double bytes : {65536., 16777216.}) {
      for (const char* compression : {"off", "every_hop", "root"}) {
        if (kind == std::string("reduce_scatter") && compression == std::string("root")) continue;
        const EquippedSystem system = example_equipped(2, 3);
        std::string keys = "streams: 2";
        if (compression != std::string("off"))
          keys += ", " + by_codec(compression, codec::example_codec(4, 30, 5, 2, 2));
        const Built built = build(ring(kind, bytes, keys), system);
        ASSERT_EQ(built.errors, "");
        ASSERT_THAT(built.notes, ::testing::ElementsAre(HasSubstr("the closed form predicts")));
        const double chosen = replay::run(system, *built.program).end.us();
        double best = chosen;
        for (std::int64_t chunks = 1; chunks <= 64; chunks *= 2)
          best = std::min(best, run(ring(kind, bytes, fmt::format("chunks: {}, {}", chunks, keys)), system).end.us());
        EXPECT_LE(chosen, 1.15 * best) << kind << " " << bytes << " " << compression << ": " << built.notes[0];
      }
    }
  }
}

TEST(ChunkedRing, WhatDoesNotGoTogetherIsRefused) {
  const auto refused = [](const std::string& kind, const std::string& keys, const EquippedSystem& system,
                          double bytes = 1e6) { return build(ring(kind, bytes, keys), system).errors; };
  const EquippedSystem two = example_equipped(2);
  const std::string codec = codec::example_codec(2);
  EXPECT_THAT(refused("reduce_scatter", by_codec("root", codec), two), HasSubstr("every_hop"));
  EXPECT_THAT(refused("reduce_scatter", by_codec("root", codec), two), HasSubstr("t.yaml:2:"));
  EXPECT_THAT(refused("all_gather", "chunks: 4", example_equipped(1)), HasSubstr("at least 2 ranks"));
  EXPECT_THAT(refused("all_reduce", "chunks: 4", two, 7), testing::Not(HasSubstr("chunks")));
  EXPECT_THAT(refused("all_reduce", "chunks: 4", two, 6), HasSubstr("3 B cannot be divided into 4 chunks"));
  EXPECT_THAT(refused("all_reduce", "compression: root", two), HasSubstr("write codec:"));
  EXPECT_THAT(refused("all_reduce", "codec: " + codec::flow(codec), two), HasSubstr("although compression is off"));
  EXPECT_THAT(refused("all_gather", "streams: 9, " + by_codec("root", codec), two), HasSubstr("write streams: 8"));
  EXPECT_THAT(refused("all_gather", "between_nodes: true, " + by_codec("root", codec), two),
              HasSubstr("leave between_nodes out"));
  EXPECT_THAT(refused("all_gather", "chunks: 1", two, 3e10), HasSubstr("do not fit"));
  EXPECT_THAT(refused("all_reduce", "chunks: 1000", example_equipped(4, 16)), HasSubstr("use fewer chunks or ranks"));
}

}  // namespace
}  // namespace moire::chunked
