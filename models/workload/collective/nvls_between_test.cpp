// Tests NVLS between nodes of 8 H100 with NCCL's profile: by trees (nvls_tree) and by switches that sum (nvls_sharp).
#include <gmock/gmock.h>

#include "models/hardware/replay/replay.hpp"
#include "models/workload/collective/algorithms.hpp"
#include "models/workload/collective/collective.hpp"
#include "models/workload/collective/timing.hpp"
#include "models/workload/collective/trees.hpp"
#include "sim/config/config.hpp"
#include "tests/support/example_system.hpp"
#include "tests/support/source_dir.hpp"

namespace moire::collective {
namespace {

using libraries::EquippedSystem;

EquippedSystem sharp(std::int64_t nodes, const std::vector<std::string>& sets = {}) {
  config::Diagnostics diagnostics;
  const auto root = config::load(support::source_dir() + "/configs/systems/128x8xh100_rail.yaml",
                                 config::parse_sets(sets, diagnostics), diagnostics);
  auto system = root ? libraries::read_system(*root, diagnostics) : std::nullopt;
  EXPECT_TRUE(system) << diagnostics.str();
  system->nodes = nodes;
  return *system;
}

Collective asked(Algorithm algorithm, double bytes) {
  return {.kind = Kind::all_reduce, .bytes = Bytes{bytes}, .method = {.algorithm = algorithm}};
}

double us(const EquippedSystem& system, Algorithm algorithm, double bytes) {
  EXPECT_EQ(check(asked(algorithm, bytes), system), std::nullopt);
  return time_of(system, asked(algorithm, bytes)).us();
}

struct Between {
  replay::Result result;
  double network_bytes;
};

Between run_between(const EquippedSystem& system, Algorithm algorithm, double bytes) {
  program::Program program(static_cast<Rank>(system.ranks()));
  program.queues.resize(1);
  builder::Builder build{system, program, program.queues[0]};
  append(build, asked(algorithm, bytes), "all_reduce");
  core::RunLoop loop;
  const auto machine = machine::build_or_throw(system, loop);
  Between ran{replay::Replay(*machine, program).run(), 0};
  EXPECT_EQ(ran.result.deadlock, "");
  ran.network_bytes = machine->service<part::Networks>().network(0).delivered().value;
  return ran;
}

// Each GPU that owns a part sends its part once, and gets the sum once. The parts of a node are the whole buffer.
TEST(NvlsSharp, EveryNodeSendsTheBufferOnce) {
  const double bytes = 32 << 20;
  for (const std::int64_t nodes : {2, 5}) {
    const Between ran = run_between(sharp(nodes), Algorithm::nvls_sharp, bytes);
    EXPECT_EQ(ran.result.traffic.put_bytes.value, static_cast<double>(nodes) * bytes);
    EXPECT_EQ(ran.network_bytes, 2 * static_cast<double>(nodes) * bytes);
  }
}

// A tree has one edge fewer than nodes; the buffer crosses each edge up and down, with 8 bytes of credit per chunk.
TEST(NvlsTree, EveryEdgeCarriesTheBufferBothWays) {
  const double bytes = 32 << 20;
  for (const std::int64_t nodes : {2, 5, 8}) {
    const Between ran = run_between(sharp(nodes), Algorithm::nvls_tree, bytes);
    const double chunk = 65536;  // the library's chunk from 4 nodes on; with fewer nodes, its chunk is halved to this
    const double edges = 2 * static_cast<double>(nodes - 1);
    EXPECT_EQ(ran.result.traffic.put_bytes.value, edges * (bytes + 8 * bytes / chunk)) << nodes;
  }
}

// With slow NICs, the NICs of a node determine the time per byte. With nvls_sharp, each byte of the buffer passes them
// once per direction, and switches receive and return data at the same time. With nvls_tree on two nodes, each byte
// passes them once, too; in larger trees, inner nodes send and receive every byte twice.
TEST(NvlsBetween, SlowNicsDecide) {
  const std::vector<std::string> slow{"node.nic.bandwidth=40 Gb/s"};
  const double nics = 8 * 40e9 / 8 * 0.994;
  constexpr double more = 256 << 20;
  const auto a_byte = [&](std::int64_t nodes, Algorithm algorithm) {
    const EquippedSystem system = sharp(nodes, slow);
    return (us(system, algorithm, 2 * more) - us(system, algorithm, more)) * 1e-6 / more * nics;
  };
  EXPECT_NEAR(a_byte(8, Algorithm::nvls_sharp), 1, 0.02);
  EXPECT_NEAR(a_byte(2, Algorithm::nvls_sharp), 1, 0.02);
  EXPECT_NEAR(a_byte(2, Algorithm::nvls_tree), 1, 0.03);
  EXPECT_NEAR(a_byte(8, Algorithm::nvls_tree), 2, 0.1);
}

TEST(NvlsBetween, AnySizeEndsOnAnyNumberOfNodes) {
  for (const std::int64_t nodes : {2, 3, 7}) {
    for (const Algorithm algorithm : {Algorithm::nvls_tree, Algorithm::nvls_sharp}) {
      double before = 0;
      for (const double bytes : {1., 7., 4097., 65536., 1e6 + 1, 3e6, 2e7 + 3}) {
        const double now = us(sharp(nodes), algorithm, bytes);
        EXPECT_GE(now, 0.99 * before) << name_of(algorithm) << ' ' << nodes << ' ' << bytes;
        before = now;
      }
    }
  }
}

// With fewer NICs than GPUs, one GPU for each NIC owns a part. These GPUs together send as many bytes as 8 GPUs with 8
// NICs.
TEST(NvlsBetween, OneGpuForEachNic) {
  const EquippedSystem four = sharp(4, {"node.nics=4"});
  const double bytes = 8 << 20;
  EXPECT_EQ(run_between(four, Algorithm::nvls_sharp, bytes).result.traffic.put_bytes.value, 4 * bytes);
  EXPECT_GT(us(four, Algorithm::nvls_tree, 8 * bytes), 1.2 * us(sharp(4), Algorithm::nvls_tree, 8 * bytes));
}

// For a single chunk, the latency of the fabric's sums counts once for each level of switches.
TEST(NvlsSharp, TheSwitchesLatencyCountsOnce) {
  const double fast = us(sharp(4), Algorithm::nvls_sharp, 1000);
  const double slow = us(sharp(4, {"fabric.rail_fat_tree.reduction.latency=1200 ns"}), Algorithm::nvls_sharp, 1000);
  EXPECT_NEAR(slow - fast, 1, 1e-3);
}

TEST(Trees, OfNodesHaveTwoChildrenAtMost) {
  for (Rank nodes = 2; nodes < 70; ++nodes) {
    for (const Tree& tree : trees_of_nodes(nodes)) {
      std::size_t edges = 0;
      for (const auto& children : tree.children) {
        EXPECT_LE(children.size(), 2u);
        edges += children.size();
      }
      EXPECT_EQ(edges, nodes - 1);
    }
  }
}

TEST(NvlsBetween, SaysWhereItCannot) {
  const auto refusal = [](const EquippedSystem& system, Algorithm algorithm, Kind kind = Kind::all_reduce) {
    Collective collective = asked(algorithm, 1e6);
    collective.kind = kind;
    const auto problem = check(collective, system);
    return problem ? problem->str() : "";
  };
  EXPECT_THAT(refusal(sharp(1), Algorithm::nvls_tree),
              testing::HasSubstr("nvls_tree connects nodes, but there is only one"));
  EXPECT_THAT(refusal(sharp(2), Algorithm::nvls_tree, Kind::all_gather),
              testing::HasSubstr("nvls_tree all_gather does not exist"));
  EquippedSystem plain = sharp(2);
  plain.fabric->rail_fat_tree->reduction.reset();
  EXPECT_THAT(refusal(plain, Algorithm::nvls_sharp), testing::HasSubstr("the fabric has no reduction"));
  EXPECT_EQ(refusal(plain, Algorithm::nvls_tree), "");
  plain.software.library->channels->nvls->tree.reset();
  EXPECT_THAT(refusal(plain, Algorithm::nvls_tree), testing::HasSubstr("does not describe nvls_tree"));
  plain.node.gpu.port.multicast_efficiency.reset();
  EXPECT_THAT(refusal(plain, Algorithm::nvls_tree), testing::HasSubstr("multicast_efficiency"));
}

}  // namespace
}  // namespace moire::collective
