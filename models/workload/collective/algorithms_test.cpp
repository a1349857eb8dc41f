// Tests channel programs without simulating a machine: for every chunk that a rank sends, another rank receives a chunk
// of the same size, and rings and trees reach all ranks. Also tests how a library chooses algorithm and protocol.
#include "models/workload/collective/algorithms.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "models/algorithms/proof/channels.hpp"
#include "models/workload/collective/relays.hpp"
#include "models/workload/collective/rings.hpp"
#include "models/workload/collective/selection.hpp"
#include "models/workload/collective/shares.hpp"
#include "models/workload/collective/trees.hpp"
#include "tests/support/example_equipped.hpp"

namespace moire::collective {
namespace {

using libraries::example_equipped;
using ::testing::ElementsAre;

std::vector<std::shared_ptr<const ChannelProgram>> programs_of(const Work& work, bool with_recursive = true) {
  std::vector<std::shared_ptr<const ChannelProgram>> made;
  for (const ChannelAlgorithm* algorithm : algorithms) {
    if (algorithm == &recursive_algorithm && !with_recursive) continue;
    if (algorithm->program && algorithm->can(work.kind, work.system)) made.push_back(algorithm->program(work));
  }
  return made;
}

TEST(Algorithms, StandInTheTableInTheOrderOfTheirNumbers) {
  EXPECT_STREQ(name_of(Algorithm::automatic), "auto");
  EXPECT_STREQ(name_of(Algorithm::ring), "ring");
  EXPECT_STREQ(name_of(Algorithm::tree), "tree");
  EXPECT_STREQ(name_of(Algorithm::direct), "direct");
  EXPECT_STREQ(name_of(Algorithm::recursive), "recursive");
  EXPECT_STREQ(name_of(Algorithm::nvls), "nvls");
  EXPECT_STREQ(name_of(Algorithm::pat), "pat");
  EXPECT_STREQ(name_of(Algorithm::nvls_tree), "nvls_tree");
  EXPECT_STREQ(name_of(Algorithm::nvls_sharp), "nvls_sharp");
  EXPECT_EQ(algorithms.size(), 8u);
}

// The sizes of the chunks of each connection, in order. A connection is identified by sender, receiver and number.
using Chunks = std::map<std::tuple<Rank, Rank, std::uint32_t>, std::vector<double>>;

TEST(ChannelProgram, WhatIsSentIsReceivedInOrder) {
  for (const auto& [gpus, nodes] : {std::pair{2, 1}, {4, 1}, {5, 1}, {8, 1}, {2, 3}, {4, 4}, {1, 8}}) {
    libraries::EquippedSystem system = example_equipped(gpus, nodes);
    for (const auto wiring : {link::Wiring::nvswitch, link::Wiring::full_mesh}) {
      if (gpus > 1) system.node.wiring = wiring;
      for (const Kind kind : {Kind::all_gather, Kind::reduce_scatter, Kind::all_reduce, Kind::broadcast}) {
        for (const double bytes : {1., 16., 4999., 5000., 123456.}) {
          const Work work{system, kind, bytes, 6, 1000, 256, true, 1, bytes < 1000};
          for (const auto& program : programs_of(work)) {
            Chunks sent, received;
            for (Rank rank = 0; rank < static_cast<Rank>(system.ranks()); ++rank) {
              for (std::uint32_t channel = 0; channel < program->channels(); ++channel) {
                for (std::uint32_t strand = 0; strand < program->strands(); ++strand) {
                  Step step;
                  for (std::uint32_t n = 0; program->step(rank, channel, strand, n, step); ++n, step = {}) {
                    if (step.op == Op::none) continue;
                    EXPECT_GE(step.bytes, 0);
                    EXPECT_EQ(step.bytes, std::floor(step.bytes));
                    EXPECT_TRUE(step.bytes <= 1000 || step.op == Op::copy);
                    if (effect(step.op).sends) {
                      EXPECT_EQ(program->receiver(rank, step.out), step.to);
                      auto& chunks = sent[{rank, step.to, step.out}];
                      EXPECT_EQ(step.sent, chunks.size());
                      chunks.push_back(step.bytes);
                    }
                    if (effect(step.op).receives) {
                      EXPECT_EQ(program->sender(rank, step.in), step.from);
                      auto& chunks = received[{step.from, rank, step.in}];
                      EXPECT_EQ(step.received, chunks.size());
                      chunks.push_back(step.bytes);
                    }
                  }
                }
              }
            }
            EXPECT_EQ(sent, received) << name_of(kind) << " " << gpus << " x " << nodes << " " << bytes;
            EXPECT_FALSE(sent.empty());
          }
        }
      }
    }
  }
}

// Proves that the result of every algorithm is right, and that there are no races and no deadlocks, both in place and
// out of place.
TEST(ChannelProgram, LibraryAlgorithmsAreProved) {
  int proofs = 0;
  for (const auto& [gpus, nodes] : {std::pair{2, 1}, {4, 1}, {5, 1}, {8, 1}, {2, 3}, {4, 4}, {1, 8}}) {
    libraries::EquippedSystem system = example_equipped(gpus, nodes);
    for (const auto wiring : {link::Wiring::nvswitch, link::Wiring::full_mesh}) {
      if (gpus > 1) system.node.wiring = wiring;
      const std::int64_t ranks = system.ranks();
      for (const Kind kind : {Kind::all_gather, Kind::reduce_scatter, Kind::all_reduce, Kind::broadcast}) {
        for (const bool in_place : {true, false}) {
          if (kind == Kind::broadcast && !in_place) continue;  // the root's output is its input
          for (const std::uint32_t channels : {1U, 3U}) {
            const double bytes = static_cast<double>(ranks) * 480;
            const Work work{system, kind,      bytes, channels,     96 * static_cast<double>(ranks),
                            16,     !in_place, 1,     channels == 3};
            for (const auto& program : programs_of(work, channels == 1)) {
              proof::Claim claim{kind, static_cast<std::int32_t>(ranks), static_cast<std::int64_t>(bytes)};
              if (kind == Kind::all_gather) claim.bytes *= ranks;
              claim.pattern = in_place ? proof::CallPattern::in_place : proof::CallPattern::out_of_place;
              claim.root = kind == Kind::broadcast ? 1 : 0;
              for (const std::uint32_t slots : {2U, 4U}) {
                const proof::Proof proved = prove(*program, claim, slots);
                EXPECT_TRUE(proved.holds())
                    << name_of(kind) << " " << gpus << " x " << nodes << ", channels " << channels << ", slots "
                    << slots << (in_place ? ", in place" : "") << ": deadlock of " << proved.cycle.size() << " waits, "
                    << proved.result.wrong_chunks << " wrong chunks, " << proved.result.unwritten_reads
                    << " reads of unwritten data, " << proved.races.count << " races";
                ++proofs;
              }
            }
          }
        }
      }
    }
  }
  EXPECT_GT(proofs, 500);
}

// Proofs must fail for a ring in which every connection is full, for a wrong root, and for a wrong collective.
TEST(ChannelProgram, WhatDoesNotHoldIsNotProved) {
  const libraries::EquippedSystem system = example_equipped(4);
  const auto ring = [&](Kind kind) { return ring_algorithm.program({system, kind, 1920, 1, 96, 16, true, 1}); };
  EXPECT_EQ(proof::prove(*ring(Kind::all_gather), {Kind::all_gather, 4, 4 * 1920}, 1).cycle.size(), 4U);
  EXPECT_TRUE(proof::prove(*ring(Kind::all_gather), {Kind::all_gather, 4, 4 * 1920}, 2).holds());
  const proof::Claim from_another{Kind::broadcast, 4, 1920, proof::CallPattern::in_place, 0};
  EXPECT_GT(proof::prove(*ring(Kind::broadcast), from_another, 2).result.wrong_chunks, 0U);
  const proof::Claim another{Kind::all_reduce, 4, 1920, proof::CallPattern::in_place};
  EXPECT_FALSE(proof::prove(*ring(Kind::reduce_scatter), another, 2).holds());
}

// All N ranks together add every byte N - 1 times, as often as the collective requires.
TEST(ChannelProgram, SumsAreMadeOnce) {
  for (const std::int64_t gpus : {2, 4, 8}) {
    const libraries::EquippedSystem system = example_equipped(gpus);
    for (const Kind kind : {Kind::reduce_scatter, Kind::all_reduce}) {
      const double bytes = 4096. * static_cast<double>(gpus);
      for (const auto& program : programs_of({system, kind, bytes, 3, 1000, 16})) {
        double summed = 0;
        for (Rank rank = 0; rank < static_cast<Rank>(gpus); ++rank) {
          for (std::uint32_t channel = 0; channel < program->channels(); ++channel) {
            for (std::uint32_t strand = 0; strand < program->strands(); ++strand) {
              Step step;
              for (std::uint32_t n = 0; program->step(rank, channel, strand, n, step); ++n, step = {})
                if (effect(step.op).reduces) summed += step.bytes;
            }
          }
        }
        EXPECT_NEAR(summed, static_cast<double>(gpus - 1) * bytes, 1e-6);
      }
    }
  }
}

std::vector<Rank> walk(const Ring& ring) {
  std::vector<Rank> order;
  Rank at = 0;
  do {
    order.push_back(at);
    EXPECT_EQ(ring.previous[ring.next[at]], at);
    EXPECT_EQ(ring.position[at], order.size() - 1);
    at = ring.next[at];
  } while (at != 0 && order.size() <= ring.next.size());
  return order;
}

TEST(Rings, PassThroughAllRanks) {
  for (const auto& [gpus, nodes] : {std::pair{2, 1}, {3, 1}, {4, 1}, {5, 1}, {6, 1}, {8, 1}, {4, 2}, {8, 3}, {1, 5}}) {
    libraries::EquippedSystem system = example_equipped(gpus, nodes);
    for (const auto wiring : {link::Wiring::nvswitch, link::Wiring::full_mesh}) {
      if (gpus > 1) system.node.wiring = wiring;
      for (const Ring& ring : rings(system)) {
        const std::vector<Rank> order = walk(ring);
        EXPECT_EQ(std::set<Rank>(order.begin(), order.end()).size(), static_cast<std::size_t>(gpus * nodes));
      }
    }
  }
}

// In a mesh of 8 GPUs seven rings use each of the 56 directed links once; among 4 GPUs six rings use each of the 12
// links twice.
TEST(Rings, OfAMeshUseAllLinksAlike) {
  for (const auto& [gpus, count, times] : {std::tuple{3, 2, 1}, {4, 6, 2}, {5, 4, 1}, {7, 6, 1}, {8, 7, 1}}) {
    const std::vector<Ring> all = rings(example_equipped(gpus, 1, link::Wiring::full_mesh));
    EXPECT_EQ(all.size(), count);
    std::map<std::pair<Rank, Rank>, int> uses;
    for (const Ring& ring : all) {
      for (Rank rank = 0; rank < static_cast<Rank>(gpus); ++rank) ++uses[{rank, ring.next[rank]}];
    }
    EXPECT_EQ(uses.size(), gpus * (gpus - 1));
    for (const auto& [link, number] : uses) EXPECT_EQ(number, times) << link.first << " to " << link.second;
  }
}

// Each ring leaves a node through one NIC and enters the node through one NIC. All rings together load all NICs alike.
TEST(Rings, BetweenNodesUseAllNicsAlike) {
  const std::vector<Ring> all = rings(example_equipped(4, 2));
  EXPECT_EQ(all.size(), 4);
  std::map<Rank, int> leaves, enters;
  for (const Ring& ring : all) {
    for (Rank rank = 0; rank < 8; ++rank) {
      if (rank / 4 == ring.next[rank] / 4) continue;
      ++leaves[rank];
      ++enters[ring.next[rank]];
      EXPECT_EQ(rank % 4, ring.next[rank] % 4) << "both GPUs are on the same rail";
    }
  }
  for (Rank rank = 0; rank < 8; ++rank) {
    EXPECT_EQ(leaves[rank], 1);
    EXPECT_EQ(enters[rank], 1);
  }
}

// With PXN a ring leaves a node through the NIC by which it entered the node: the last GPU of the node stores to the
// first GPU, which has this NIC.
TEST(Rings, ByOneNicPassAllNodesAlike) {
  for (const std::int64_t nodes : {2, 3}) {
    const libraries::EquippedSystem system = example_equipped(4, nodes);
    libraries::LibrarySpec library;
    library.pxn = true;
    const Relays relays(library, system.node);
    const std::vector<Ring> all = rings(system, true);
    ASSERT_EQ(all.size(), 4);
    for (Rank first = 0; first < 4; ++first) {
      EXPECT_EQ(walk(all[first]).size(), system.ranks());
      for (Rank rank = 0; rank < system.ranks(); ++rank) {
        const Rank next = all[first].next[rank];
        if (rank / 4 == next / 4) continue;
        EXPECT_EQ(next % 4, first);
        EXPECT_EQ(rank % 4, (first + 3) % 4);
        EXPECT_EQ(relays.of_channel(rank, next), rank / 4 * 4 + first);
      }
    }
  }
}

TEST(Rings, OfFewChannelsUseAllNics) {
  libraries::EquippedSystem system = example_equipped(8, 2);
  system.node.nics = 2;
  EXPECT_THAT(gpus_by_nic(system), ElementsAre(0, 4, 1, 5, 2, 6, 3, 7));
  system.node.nics = 3;
  EXPECT_THAT(gpus_by_nic(system), ElementsAre(0, 3, 6, 1, 4, 7, 2, 5));
  system.node.nics = 8;
  EXPECT_THAT(gpus_by_nic(system), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  system.node.nics = 2;
  const std::vector<Ring> all = rings(system);
  std::set<Rank> nics;
  for (std::size_t ring = 0; ring < 2; ++ring) {
    for (Rank rank = 0; rank < 8; ++rank)
      if (all[ring].next[rank] >= 8) nics.insert(rank * 2 / 8);
  }
  EXPECT_EQ(nics.size(), 2);
}

TEST(Trees, ReachAllRanksFromTheRoot) {
  for (const auto& [gpus, nodes] : {std::pair{4, 1}, {1, 7}, {4, 6}}) {
    for (const Tree& tree : trees(example_equipped(gpus, nodes))) {
      const auto ranks = static_cast<Rank>(gpus * nodes);
      std::size_t children = 0;
      for (Rank rank = 0; rank < ranks; ++rank) {
        EXPECT_LE(tree.children[rank].size(), most_children);
        children += tree.children[rank].size();
        for (std::size_t i = 0; i < tree.children[rank].size(); ++i) {
          EXPECT_EQ(tree.parent[tree.children[rank][i]], rank);
          EXPECT_EQ(tree.place[tree.children[rank][i]], i);
        }
        Rank at = rank;
        for (Rank hops = 0; at != tree.root && hops < ranks; ++hops) at = tree.parent[at];
        EXPECT_EQ(at, tree.root);
      }
      EXPECT_EQ(children, ranks - 1);
    }
  }
  EXPECT_EQ(tree_from(example_equipped(4, 3), 6).root, 6);
}

// Compares the parents of the nodes with values that were worked out by hand.
TEST(Trees, AreThePairOfTheLibrary) {
  const auto parents = [](std::int64_t nodes, std::size_t number) {
    const Tree tree = trees(example_equipped(1, nodes)).at(number);
    return tree.parent;
  };
  EXPECT_THAT(parents(8, 0), ElementsAre(0, 2, 4, 2, 0, 6, 4, 6));
  EXPECT_THAT(parents(8, 1), ElementsAre(1, 3, 1, 7, 5, 3, 5, 7));
  EXPECT_THAT(parents(5, 0), ElementsAre(0, 2, 4, 2, 0));
  EXPECT_THAT(parents(5, 1), ElementsAre(1, 1, 3, 0, 3)) << "the second tree is the first one shifted by one";
}

// With an even number of nodes, every node is a leaf in exactly one tree of the pair.
TEST(Trees, SplitTheWorkOfTheNodes) {
  for (const std::int64_t nodes : {2, 4, 6, 16}) {
    const std::vector<Tree> pair = trees(example_equipped(1, nodes));
    for (Rank node = 0; node < static_cast<Rank>(nodes); ++node) {
      const bool leaf_of_one = pair[0].children[node].empty();
      const bool leaf_of_other = pair[1].children[node].empty();
      EXPECT_NE(leaf_of_one, leaf_of_other) << node << " of " << nodes;
    }
  }
}

TEST(Shares, AreWholeCells) {
  const Shares some = deal(1000, 4, 100);  // 10 cells, 3 per channel
  EXPECT_EQ(some.channels, 4);
  EXPECT_EQ(some.of(0), 300);
  EXPECT_EQ(some.of(3), 100);
  EXPECT_EQ(deal(250, 8, 100).channels, 3) << "no more channels than cells";
  EXPECT_EQ(deal(1, 8, 100).of(0), 1);
}

// --- Choice
// ------------------------------------------------------------------------------------------------------------

// Returns a profile with NCCL's cost model for Hopper GPUs. NCCL's graph search finds 360 GB/s on 18 NVLinks.
libraries::ChannelsSpec nccl() {
  const auto expect = [](double start, double hop, double share) {
    libraries::ExpectationSpec made{Time::from_us(start), Time::from_us(hop), Time::from_us(10)};
    made.port_share = share;
    return made;
  };
  libraries::ChannelsSpec made;
  made.channels = 24;
  made.simple.smallest_share = {32768};
  made.simple.ring = expect(8.4, 3.4, 1);
  made.simple.tree = expect(8.4, 4, 0.92);
  made.ll.emplace();
  made.ll->smallest_share_per_rank = {4096};
  made.ll->ring = expect(6.6, 0.6, 0.5);
  made.ll->ring->at_most = BytesPerSecond{141e9};
  made.ll->tree = expect(6.8, 0.6, 1 / 3.8);
  made.ll128.emplace();
  made.ll128->smallest_share = {5120};
  made.ll128->ring = expect(14, 1.9, 0.92);
  made.ll128->tree = expect(14, 1.25, 7. / 9);
  return made;
}

libraries::EquippedSystem node_of(std::int64_t gpus) {
  libraries::EquippedSystem system = example_equipped(gpus);
  system.node.gpu.port.links = 18;
  system.node.gpu.port.link_bandwidth = {20e9};
  return system;
}

// The protocol with the smallest start + hops x hop + bytes / rate must be chosen. In an all-gather on 4 GPUs, LL and
// Simple are equal where 8.4 us + V / (141e3 B/us) = 18.6 us + V / (360e3 B/us): V = 2.36 MB through the port, which is
// 787 kB per rank. In an all-reduce, LL is best up to 2.49 MB, and LL128 up to 9.5 MB.
TEST(Selection, TakesWhatEndsFirst) {
  const auto protocol = [](std::int64_t gpus, Kind kind, double bytes) {
    return choose(nccl(), node_of(gpus), {kind, bytes}).protocol;
  };
  EXPECT_EQ(protocol(4, Kind::all_gather, 780e3), Protocol::ll);
  EXPECT_EQ(protocol(4, Kind::all_gather, 795e3), Protocol::simple);
  EXPECT_EQ(protocol(4, Kind::all_reduce, 2.4e6), Protocol::ll);
  EXPECT_EQ(protocol(4, Kind::all_reduce, 2.6e6), Protocol::ll128);
  EXPECT_EQ(protocol(4, Kind::all_reduce, 9.3e6), Protocol::ll128);
  EXPECT_EQ(protocol(4, Kind::all_reduce, 9.7e6), Protocol::simple);
  EXPECT_EQ(protocol(2, Kind::all_reduce, 1.6e6), Protocol::ll);
  EXPECT_EQ(protocol(2, Kind::all_reduce, 1.8e6), Protocol::simple);
}

// In a mesh of 4 only 3 of 18 links lead to other GPUs. An earlier version counted all 18.
TEST(Selection, CountsTheLinksThatLeadToAGpu) {
  libraries::EquippedSystem mesh = node_of(4);
  mesh.node.wiring = link::Wiring::full_mesh;
  mesh.node.links_per_pair = 1;
  const libraries::ChannelsSpec channels = nccl();
  const auto seconds = [&](double bytes) {
    return expected(*channels.simple.ring, channels, mesh, Kind::all_gather, Algorithm::ring, bytes);
  };
  EXPECT_NEAR(seconds(2e9) - seconds(1e9), 3 * 1e9 / (3 * 20e9), 1e-9);
  EXPECT_NEAR(least_time(channels.simple, mesh, Kind::all_gather, Algorithm::ring, 1e9), 3 * 1e9 / (3 * 20e9), 1e-9);
  libraries::EquippedSystem alone = example_equipped(1, 2);
  alone.node.wiring = link::Wiring::nvswitch;
  EXPECT_LT(expected(*channels.simple.ring, channels, alone, Kind::all_gather, Algorithm::ring, 1e9), 1)
      << "a GPU that is alone in its node sends through its NIC";
}

// If 4 rings of 20 GB/s leave a node by the NIC by which they enter it, they take 80 GB/s of a port of 120 GB/s.
TEST(Selection, RingsKeepTheirNicWhereTheLinksCarryIt) {
  libraries::EquippedSystem system = example_equipped(4, 2);
  system.node.gpu.port.links = 6;
  system.node.gpu.port.link_bandwidth = {20e9};
  libraries::LibrarySpec library;
  library.pxn = true;
  library.channels = nccl();
  library.channels->network = {.rate = {20e9}, .doubled_from = {1e12}, .few = 0, .port_share = 0.7};
  EXPECT_TRUE(by_one_nic(library, system));
  library.channels->network->port_share = 0.6;
  EXPECT_FALSE(by_one_nic(library, system));
  library.channels->network->port_share = 100;
  EXPECT_TRUE(by_one_nic(library, system)) << "rings never exceed a share of 100 ports";
  system.node.nics = 2;
  EXPECT_FALSE(by_one_nic(library, system)) << "where GPUs share NICs, rings do not use PXN";
  system.node.nics = 4;
  library.pxn = false;
  EXPECT_FALSE(by_one_nic(library, system));
}

TEST(Selection, KeepsToWhatIsAskedFor) {
  const libraries::EquippedSystem system = node_of(4);
  EXPECT_EQ(choose(nccl(), system, {Kind::all_gather, 1e3, Algorithm::automatic, Protocol::simple}).protocol,
            Protocol::simple);
  EXPECT_EQ(choose(nccl(), system, {Kind::all_reduce, 1e9, Algorithm::tree}).algorithm, Algorithm::tree);
  EXPECT_EQ(choose(nccl(), system, {Kind::all_gather, 1e9, Algorithm::recursive}).algorithm, Algorithm::recursive);
  EXPECT_EQ(choose(nccl(), system, {Kind::all_gather, 1e9, Algorithm::automatic, Protocol::automatic, 8}).channels, 8);
  EXPECT_EQ(choose(nccl(), system, {Kind::all_gather, 1e9, Algorithm::automatic, Protocol::automatic, 99}).channels, 24)
      << "no more channels than the library has";
}

TEST(Selection, FewChannelsForFewBytes) {
  const auto channels = [](std::int64_t gpus, Kind kind, double bytes) {
    return choose(nccl(), node_of(gpus), {kind, bytes}).channels;
  };
  EXPECT_EQ(channels(4, Kind::all_gather, 65536), 16) << "256 KiB; a share is at least 512 threads x 8 B x 4 ranks";
  EXPECT_EQ(channels(4, Kind::all_reduce, 65536), 4);
  EXPECT_EQ(channels(2, Kind::reduce_scatter, 65536), 8);
  EXPECT_EQ(channels(4, Kind::all_gather, 1e9), 24);
  EXPECT_EQ(channels(4, Kind::all_gather, 1), 1);
}

}  // namespace
}  // namespace moire::collective
