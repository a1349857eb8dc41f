#include <fmt/format.h>
#include <gmock/gmock.h>

#include <random>

#include "tests/support/chunked_program.hpp"
#include "tests/support/example_codec.hpp"

namespace moire::chunked {
namespace {

using ::testing::HasSubstr;

std::string broadcast(double bytes, const std::string& keys) {
  return fmt::format("{{chunked_broadcast: {{bytes: {} B, {}}}}}", bytes, keys);
}

TEST(ChunkedBroadcast, EveryChunkComesAndIsDecodedOnce) {
  std::mt19937 random(17);
  for (int i = 0; i < 80; ++i) {
    const auto nodes = static_cast<Rank>(1 + random() % 4), gpus = static_cast<Rank>(1 + random() % 4);
    const Rank ranks = nodes * gpus, root = static_cast<Rank>(random() % ranks);
    if (ranks < 2) continue;
    const std::int64_t chunks = 1 + static_cast<std::int64_t>(random() % 9);
    const double bytes = static_cast<double>(chunks + static_cast<std::int64_t>(random() % 300000));
    const char* algorithm = std::array{"chain", "binomial", "scatter_all_gather"}[random() % 3];
    const std::string compression = std::array{"off", "every_hop", "root"}[random() % 3];
    const bool between = compression != "off" && random() % 2 == 0;
    std::string keys = fmt::format("chunks: {}, root: {}, algorithm: {}, streams: {}, between_nodes: {}", chunks, root,
                                   algorithm, 1 + random() % 3, between);
    if (compression != "off") keys += ", " + by_codec(compression, codec::example_codec(2, 10, 1));
    const bool by_host = random() % 3 == 0;
    if (by_host) keys += ", path: host";
    SCOPED_TRACE(fmt::format("{} x {}: {}", nodes, gpus, keys));
    EquippedSystem system = example_equipped(gpus, nodes);
    system.node.host_memory = machine::example_host_memory();
    const Built built = build(broadcast(bytes, keys), system);
    ASSERT_EQ(built.errors, "");
    const Walk all = walk(*built.program);
    for (const auto& [flag, target] : all.awaited) EXPECT_EQ(all.raised.at(flag), target);
    const bool coded = compression != "off";
    for (Rank rank = 0; rank < ranks; ++rank) {
      double received = 0;
      for (const auto& [pair, sent] : all.bytes) received += pair.second == rank ? sent : 0;
      const bool plain = !coded || (between && all.count(rank, "decompress") == 0);
      const double want = rank == root ? 0 : plain ? bytes : bytes / 2;
      EXPECT_NEAR(received, want, plain ? 0 : static_cast<double>(chunks));
      if (rank != root && !plain) {
        EXPECT_EQ(all.count(rank, "decompress"), chunks);
      }
      if (compression == "root") {
        EXPECT_EQ(all.count(rank, "compress"), rank == root && (!between || nodes > 1) ? chunks : 0);
      }
      if (rank == root) {
        EXPECT_EQ(all.count(rank, "decompress"), 0);
      }
    }
    const replay::Result result = replay::run(system, *built.program);
    EXPECT_EQ(result.deadlock, "");
    double between_nodes = 0;
    for (const auto& [pair, sent] : all.bytes)
      between_nodes += system.node.reach().stores(pair.first, pair.second) ? 0 : sent;
    EXPECT_EQ(result.traffic.put_bytes.value, between_nodes);
    EXPECT_EQ(all.to_hosts, all.from_hosts);
    EXPECT_EQ(result.traffic.host_bytes.value, all.to_hosts + all.from_hosts);
    EXPECT_EQ(by_host && gpus > 1, all.to_hosts > 0);
    if (by_host) {
      EXPECT_EQ(result.traffic.scale_up_bytes.value, 0);
    }
  }
}

// --- Closed forms of a pipeline with serial stages. T0: the time of a plain chain; T1: with compression at every hop;
// T2: with compression once at the root.

TEST(ChunkedBroadcast, PlainTakesT0) {
  for (const Rank ranks : {2, 3, 8}) {
    for (const std::int64_t chunks : {1, 4, 32}) {
      const Pipeline p = pipeline(ranks, chunks, 1 << 26);
      const double taken = run(broadcast(1 << 26, fmt::format("chunks: {}", chunks)), p.system).end.seconds();
      EXPECT_NEAR(taken, p.hops() * p.hop(), 1e-3 * taken) << ranks << " ranks, " << chunks << " chunks";
    }
  }
}

// Through the host's memory a hop consists of two copies, one after the other.
TEST(ChunkedBroadcast, ThroughTheHostEveryHopIsTwoCopies) {
  for (const Rank ranks : {2, 3}) {
    for (const auto wiring : {link::Wiring::nvswitch, link::Wiring::none}) {
      EquippedSystem system = example_equipped(ranks);
      system.node.wiring = wiring;
      system.node.host_memory = machine::example_host_memory();
      system.node.host_memory->slot = system.node.host_memory->bandwidth = {1e12};
      system.node.gpu.dma.first_command = system.node.gpu.dma.next_command = Time{};
      const double chunk = (1 << 26) / 8.0, hop = chunk / 25e9 + chunk / 50e9;
      const double taken = run(broadcast(1 << 26, "chunks: 8, path: host"), system).end.seconds();
      EXPECT_NEAR(taken, (8 + ranks - 2) * hop, 1e-3 * taken) << ranks << " ranks";
    }
  }
}

TEST(ChunkedBroadcast, EveryHopTakesT1) {
  for (const Rank ranks : {3, 8}) {
    for (const std::int64_t chunks : {1, 4, 32}) {
      const std::string codec = codec::example_codec(4, 100, 5, 20);
      const Pipeline p = pipeline(ranks, chunks, 1 << 26);
      const double compress = 20e-6 + alone(p.system, "compress", p.chunk, codec);
      const double decompress = 20e-6 + alone(p.system, "decompress", p.chunk, codec);
      const double taken =
          run(broadcast(1 << 26, fmt::format("chunks: {}, {}", chunks, by_codec("every_hop", codec))), p.system)
              .end.seconds();
      EXPECT_NEAR(taken, p.hops() * (compress + p.hop(4) + decompress), 1e-3 * taken) << ranks << ", " << chunks;
    }
  }
}

TEST(ChunkedBroadcast, OnceAtTheRootTakesT2) {
  for (const Rank ranks : {2, 3, 8}) {
    for (const std::int64_t chunks : {1, 4, 32}) {
      for (const double operations : {1., 20.}) {
        const std::string codec = codec::example_codec(4, operations, 5, 10);
        const Pipeline p = pipeline(ranks, chunks, 1 << 26);
        const double compress = 10e-6 + alone(p.system, "compress", p.chunk, codec);
        const double decompress = 10e-6 + alone(p.system, "decompress", p.chunk, codec);
        ASSERT_LT(std::max(compress, decompress), p.hop(4)) << "the link is the slowest stage";
        const double taken =
            run(broadcast(1 << 26, fmt::format("chunks: {}, {}", chunks, by_codec("root", codec))), p.system)
                .end.seconds();
        EXPECT_NEAR(taken, compress + p.hops() * p.hop(4) + decompress, 1e-3 * taken) << ranks << ", " << chunks;
      }
    }
  }
}

// If the codec is the slowest stage, all chunks pass it one after the other. The last chunk then passes all other
// stages.
TEST(ChunkedBroadcast, ASlowCodecIsTheStageThatCounts) {
  const std::string codec = codec::example_codec(4, 2000, 5);
  const Pipeline p = pipeline(5, 16, 1 << 26);
  const double compress = alone(p.system, "compress", p.chunk, codec);
  const double decompress = alone(p.system, "decompress", p.chunk, codec);
  ASSERT_GT(compress, 2 * p.hop(4));
  const double taken = run(broadcast(1 << 26, "chunks: 16, " + by_codec("root", codec)), p.system).end.seconds();
  EXPECT_NEAR(taken, 16 * compress + 4 * p.hop(4) + decompress, 1e-3 * taken);
}

TEST(ChunkedBroadcast, TheSizeComesBackBeforeAChunkIsSent) {
  const Pipeline p = pipeline(2, 1, 1 << 20);
  const auto taken = [&](double to_host) {
    return run(broadcast(1 << 20, "chunks: 1, " + by_codec("root", codec::example_codec(2, 0, 0, 0, to_host))),
               p.system)
        .end.us();
  };
  EXPECT_NEAR(taken(7) - taken(0), 14, 1e-3)
      << "to_host counts twice: until the host knows the compressed size, and until it sees the decompression end";
}

// --- Laws

TEST(ChunkedBroadcast, MoreIsNeverSlower) {
  std::mt19937 random(23);
  for (int i = 0; i < 25; ++i) {
    const auto nodes = static_cast<Rank>(2 + random() % 4), gpus = static_cast<Rank>(1 + random() % 3);
    const double bytes = static_cast<double>(1000 + random() % 4000000);
    const char* algorithm = std::array{"chain", "binomial", "scatter_all_gather"}[random() % 3];
    const char* compression = std::array{"every_hop", "root"}[random() % 2];
    const double operations = static_cast<double>(random() % 300);
    const auto end = [&](const EquippedSystem& system, double ratio, double factor) {
      const std::string codec = codec::example_codec(ratio, operations * factor, 4 * factor, 3 * factor);
      return run(broadcast(bytes,
                           fmt::format("chunks: {}, algorithm: {}, {}", 6, algorithm, by_codec(compression, codec))),
                 system)
          .end.us();
    };
    const EquippedSystem system = example_equipped(gpus, nodes);
    const double base = end(system, 2, 1);
    EquippedSystem wider = system;
    wider.node.nic->bandwidth = {50e9};
    EXPECT_LE(end(wider, 2, 1), base * 1.0001);
    EXPECT_LE(end(system, 4, 1), base * 1.0001) << "with a higher compression ratio";
    EXPECT_LE(end(system, 2, 0.5), base * 1.0001) << "with a faster codec";
    EquippedSystem more = system;
    more.node.gpu.compute.groups = {{.cus = 4, .count = 4}};
    more.node.gpu.compute.vector_fp32 = {16e12};
    EXPECT_LE(end(more, 2, 1), base * 1.005) << "with more CUs, which change how many workgroups are simulated as one";
  }
}

// --- Choice of chunks, keys

TEST(ChunkedBroadcast, TheChunksThatItChoosesAreNotFarFromTheBest) {
  const EquippedSystem system = example_equipped(2, 4);
  for (const char* algorithm : {"chain", "binomial", "scatter_all_gather"}) {
    for (const double bytes : {65536., 4194304., 67108864.}) {
      for (const char* compression : {"off", "every_hop", "root"}) {
        for (const int streams : {1, 3}) {
          std::string keys = fmt::format("algorithm: {}, streams: {}", algorithm, streams);
          if (std::string(compression) != "off")
            keys += ", " + by_codec(compression, codec::example_codec(4, 30, 5, 2, 2));
          const Built built = build(broadcast(bytes, keys), system);
          ASSERT_EQ(built.errors, "");
          EXPECT_THAT(built.notes, ::testing::ElementsAre(HasSubstr("the closed form predicts")));
          const double chosen = replay::run(system, *built.program).end.us();
          double best = chosen;
          for (std::int64_t chunks = 1; chunks <= 256; chunks *= 2)
            best = std::min(best, run(broadcast(bytes, fmt::format("chunks: {}, {}", chunks, keys)), system).end.us());
          EXPECT_LE(chosen, 1.15 * best) << keys << " " << bytes << ": " << built.notes[0];
        }
      }
    }
  }
}

TEST(ChunkedBroadcast, WhatDoesNotGoTogetherIsRefused) {
  const auto refused = [](const std::string& keys, const EquippedSystem& system, double bytes = 1e6) {
    return build(broadcast(bytes, keys), system).errors;
  };
  const EquippedSystem two = example_equipped(2);
  const std::string codec = by_codec("root", codec::example_codec(2));
  EXPECT_THAT(refused("root: 2", two), HasSubstr("t.yaml:2:"));
  EXPECT_THAT(refused("root: 2", two), HasSubstr("the last one is 1"));
  EXPECT_THAT(refused("chunks: 4", example_equipped(1)), HasSubstr("at least 2 ranks"));
  EXPECT_THAT(refused("path: host", two), HasSubstr("the system does not state the memory of its hosts"));
  EXPECT_THAT(refused("chunks: 4", two, 3), HasSubstr("use fewer chunks"));
  EXPECT_THAT(refused("compression: root", two), HasSubstr("write codec:"));
  EXPECT_THAT(refused("codec: " + codec::flow(codec::example_codec(2)), two), HasSubstr("although compression is off"));
  EXPECT_THAT(refused("streams: 9, " + codec, two), HasSubstr("write streams: 8"));
  EXPECT_THAT(refused("between_nodes: true", two), HasSubstr("leave between_nodes out"));
  EXPECT_THAT(refused("chunks: 1", two, 1e12), HasSubstr("do not fit"));
  EXPECT_THAT(refused("chunks: 65536", example_equipped(4, 16)), HasSubstr("use fewer chunks or ranks"));
}

// Broadcasts run in a group per node, as fast as on one node alone, and in a group per GPU index across all nodes.
TEST(ChunkedBroadcast, RunsInGroups) {
  const auto grouped = [](const EquippedSystem& system, const char* group) {
    config::Diagnostics diagnostics;
    const std::string keys =
        fmt::format("group: {}, chunks: 4, streams: 2, ", group) + by_codec("root", codec::example_codec(2, 50, 4));
    const std::string text = codec::codec_sources + std::string("groups: {node: {by: node}, across: {stride: 4}}\n") +
                             fmt::format("queues: {{main: [{}]}}\n", broadcast(1e6, keys));
    const auto root = config::load_text("t.yaml", text, {}, diagnostics);
    program::WgTraceFiles traces;
    const auto built = operators::build_program(*root, system, traces, diagnostics);
    EXPECT_EQ(diagnostics.str(), "");
    const replay::Result result = built.program ? replay::run(system, *built.program) : replay::Result{};
    EXPECT_EQ(result.deadlock, "");
    return result.end;
  };
  const Time one_node = grouped(example_equipped(4), "node");
  EXPECT_GT(one_node, Time{});
  EXPECT_EQ(grouped(example_equipped(4, 3), "node"), one_node);
  EXPECT_GT(grouped(example_equipped(4, 3), "across"), Time{});
}

TEST(ChunkedBroadcast, TwoBehindEachOtherAndBesideAKernel) {
  const EquippedSystem system = example_equipped(2, 2);
  const std::string one = broadcast(1e6, "chunks: 4, " + by_codec("root", codec::example_codec(2, 50, 4)));
  const Time once = run(one, system).end;
  const Time twice = run(one + ", " + one, system).end;
  EXPECT_LE(twice.us(), 2.001 * once.us()) << "the root begins the second broadcast when it has ended the first";
  EXPECT_GT(twice.us(), 1.2 * once.us());
  const Time behind = run("{gemm: {m: 512, n: 512, k: 512}}, " + one, system).end;
  EXPECT_GT(behind, once);
}

}  // namespace
}  // namespace moire::chunked
