#include "models/workload/collective/messages.hpp"

#include <gmock/gmock.h>

#include <map>
#include <set>

#include "models/workload/collective/message_deal.hpp"
#include "models/workload/collective/relays.hpp"
#include "models/workload/collective/timing.hpp"
#include "tests/support/example_equipped.hpp"
#include "tests/support/example_program.hpp"

namespace moire::collective {
namespace {

using libraries::example_equipped;
using libraries::LibrarySpec;
using libraries::MessageSpec;
using program::Rank;
using replay::Watcher;

constexpr double slot = 102400;  // 25 blocks of 4 KiB

// A channel's two wavefronts have 40 kB in flight each. Alone on its CU, a wavefront sends at most 50 B/ns (the limit of
// the store window), or copies at most 100 B/ns; copying() has the time of a slot. If both work, each has half of these
// rates. Every slot has 1 us of overhead. Times in the comments below are in us.
LibrarySpec library(std::int64_t channels = 2, std::int64_t per_peer = 1, std::int64_t slots = 4) {
  LibrarySpec made;
  made.name = "example";
  made.max_channels = channels;
  made.peers_at_once = 4;
  made.threads = 64;
  made.registers_per_thread = 32;
  made.slots = slots;
  made.bytes_in_flight = {80e3};
  made.setup = Time::from_us(5);
  made.step_overhead = Time::from_us(1);
  made.node = {.channels_per_peer = per_peer, .slot = {slot}, .smallest_share = {4096}, .largest_share = {1e9}};
  return made;
}

LibrarySpec low_latency(std::int64_t channels = 2) {
  LibrarySpec made = library(channels);
  made.low_latency = {.threshold = {8192},
                      .slot = {4096},
                      .smallest_share = {4096},
                      .largest_share = {1e9},
                      .bytes_in_flight = {4096},
                      .step_overhead = Time::from_ns(200)};
  return made;
}

struct Ran {
  std::unique_ptr<program::Program> program;
  std::unique_ptr<core::RunLoop> loop;
  std::unique_ptr<machine::Machine> machine;
  replay::Result result;
  Watcher seen;
};

Ran run(const libraries::EquippedSystem& system, const LibrarySpec& spec, double bytes, int times = 1) {
  Ran ran;
  ran.program = std::make_unique<program::Program>(static_cast<Rank>(system.ranks()));
  ran.program->queues.resize(1);
  builder::Builder build{system, *ran.program, ran.program->queues[0]};
  for (int i = 0; i < times; ++i) append_all_to_all(build, spec, Bytes{bytes}, true, "all_to_all");
  ran.loop = std::make_unique<core::RunLoop>();
  ran.machine = machine::build_or_throw(system, *ran.loop);
  ran.result = replay::Replay(*ran.machine, *ran.program, &ran.seen).run();
  EXPECT_EQ(ran.result.deadlock, "");
  return ran;
}

double time_us(const libraries::EquippedSystem& system, const LibrarySpec& spec, double bytes) {
  return run(system, spec, bytes).result.end.us();
}

Turns turns_on(std::int64_t gpus, std::int64_t nodes, const LibrarySpec& spec) {
  return Turns::of(static_cast<Rank>(gpus * nodes), static_cast<Rank>(gpus), static_cast<Rank>(spec.peers_at_once));
}

MessageDeal deal_on(std::int64_t gpus, std::int64_t nodes, const LibrarySpec& spec, double bytes) {
  const auto network = nodes > 1 ? std::optional(RankNetwork{12.5e9}) : std::nullopt;
  return deal_messages(spec, turns_on(gpus, nodes, spec), every_turn(static_cast<Rank>(gpus * nodes)), network, bytes);
}

MessageDeal deal(const LibrarySpec& spec, Rank ranks, double bytes) { return deal_on(ranks, 1, spec, bytes); }

// --- Time
// -------------------------------------------------------------------------------------------------------------

// Returns the time of a slot, in us, if the CU alone would copy it at `rate` (B/ns). A wavefront loads three batches,
// waits 400 ns for each and takes 171 ns to request it. Both limits together give (rate^-4 + waiting^-4)^-1/4.
double copying(double rate) {
  const double batch = std::ceil(slot / 3), waiting = batch / (400 + batch / 200);
  return slot * 1e-3 * std::pow(std::pow(rate, -4) + std::pow(waiting, -4), 0.25);
}
const double sent = copying(50);       // 2.262; the store window allows 50 B/ns
const double received = copying(100);  // 1.764

constexpr double end = 0.5;         // a kernel that stored to peers ends one store latency later
constexpr double around = 5 + end;  // with the setup before

// Without staging the receiver only polls. Setup takes 5, and every slot costs the sender 1 + 2.262. The last slot adds
// 0.5 of store latency and 0.1 of polling. From the fifth slot on, the sender also polls for a credit (0.1).
TEST(Messages, UnstagedOneChannelIsPacedByItsSender) {
  LibrarySpec direct = library();
  direct.staged = false;
  for (const int slots : {1, 2, 4, 5, 9}) {
    EXPECT_NEAR(time_us(example_equipped(2), direct, slots * slot),
                around + (1 + sent) * slots + 0.1 * std::max(0, slots - 4) + 0.6, 1e-5)
        << slots << " slots";
  }
}

// Only the first of two kernels of a queue is cold, and a kernel with a single channel is not.
TEST(Messages, TheFirstKernelOfAQueueBeginsCold) {
  LibrarySpec cold = library();
  cold.cold_start = Time::from_us(3);
  const auto longer = [&](double bytes, int times) {
    return run(example_equipped(2), cold, bytes, times).result.end.us() -
           run(example_equipped(2), library(), bytes, times).result.end.us();
  };
  EXPECT_NEAR(longer(4 * slot, 1), 3, 1e-6);
  EXPECT_NEAR(longer(4 * slot, 2), 3, 1e-6);
  cold.max_channels = 1;
  EXPECT_EQ(time_us(example_equipped(2), cold, 4 * slot), time_us(example_equipped(2), library(1), 4 * slot));
}

// With a FIFO of one slot, sender and receiver take turns, each alone on the CU: 3.262 + 0.5 + 0.1 + 2.764 per slot.
// Between two slots, the credit takes 0.5 + 0.1.
TEST(Messages, AFifoOfOneSlotAlternates) {
  for (const int slots : {1, 2, 7}) {
    EXPECT_NEAR(time_us(example_equipped(2), library(2, 1, 1), slots * slot),
                around + (2 + sent + received) * slots + 0.6 * (2 * slots - 1), 1e-5)
        << slots;
  }
}

// Sends two slots. For the first slot, the sender has the CU to itself: 5 + 3.262. The sender begins the second slot at
// 9.262. From 9.862 on it shares the CU with the receiver. Each then requests 20 kB at a time, which is 50 B/ns, and
// has half of the CU's rates: 25 B/ns for the sender and 50 B/ns for the receiver. The receiver takes 2.436. The sender
// moves what it has left then alone. Then the receiver, alone on the CU, takes 0.6 and 2.764.
TEST(Messages, ThreadsThatSendAndReceiveShareTheChannelsCu) {
  const auto shared = [](double rate) { return std::pow(std::pow(rate, -4) + std::pow(50, -4), -0.25) * 1e3; };
  const double together = slot / shared(50);
  const double left = slot - slot * 0.6 / sent - together * shared(25);
  EXPECT_NEAR(time_us(example_equipped(2), library(), 2 * slot),
              7 + sent + 0.6 + together + left / slot * sent + 0.6 + 1 + received + end, 1e-5);
}

// Loops with copy_cost 2 take twice as much of the CU. The sender still reaches the 50 B/ns of the store window, while
// the receiver's copies drop to 50 B/ns.
TEST(Messages, LoopsMayTakeMoreOfTheCuThanPlainOnes) {
  LibrarySpec slow = library();
  slow.copy_cost = 2;
  EXPECT_NEAR(time_us(example_equipped(2), slow, slot), around + 2 * (1 + sent) + 0.6, 1e-5);
}

// The channel also copies the rank's own share, which takes 1.42 alone. The sender begins at 6, when 0.42 of the copy
// are left, so both share the CU for a while.
TEST(Messages, OneChannelServesAllTurnsSideBySide) {
  const double alone = around + 2 + sent + 0.6 + received;
  EXPECT_GT(time_us(example_equipped(2), library(1), slot), alone + 0.1);
  EXPECT_LT(time_us(example_equipped(2), library(1), slot), alone + 2 * 0.42);
}

// Together four channels use much of the memory, so their first loads wait for up to a latency of 0.4 us longer.
TEST(Messages, ChannelsShareAMessage) {
  EXPECT_NEAR(time_us(example_equipped(2), library(8, 4), 4 * slot), around + 2 + sent + 0.6 + received + 0.2,
              0.2 + 1e-5);
}

// One wavefront requests 2,048 B of data and waits 400 ns, plus 10 ns at the CU's rate; its stores, 245 ns at most,
// overlap with the next loads. The receiver loads twice as many bytes, but from the cache, so it is faster and ends
// when the last line arrives.
TEST(Messages, LowLatencyReceivesWhileItSends) {
  EXPECT_NEAR(time_us(example_equipped(2), low_latency(), 4096), around + 0.2 + 2 * 0.41024 + 0.5 + 0.1, 1e-2);
}

TEST(Messages, LowLatencyEndsAtItsThreshold) {
  EXPECT_TRUE(deal(low_latency(), 2, 8192).low_latency);
  EXPECT_FALSE(deal(low_latency(), 2, 8193).low_latency);
  EXPECT_FALSE(deal(library(), 2, 1).low_latency);
}

// A slot between nodes takes: staging 1 + 1.764, put 0.3, proxy 1.1, doorbell 0.2, work requests 0.02, PCIe 0.5, wire
// 4.096, flag 0.4. Then follow the poll (0.1) and the receiver's 2.764.
TEST(Messages, BetweenNodesAProxySendsWhatWasStaged) {
  const libraries::EquippedSystem system = example_equipped(1, 2);
  LibrarySpec apart = library();
  apart.peers_at_once = 1;  // so the rank's own share is on another channel
  const Ran ran = run(system, apart, slot);
  std::vector<core::LinkId> path;
  ran.machine->service<part::Networks>().topology().route(0, 1, 0, path);
  double latency = 0;
  for (const core::LinkId link : path)
    latency += ran.machine->service<part::Networks>().topology().links()[link].latency.us();
  EXPECT_NEAR(ran.result.end.us(), 5 + 2 * (1 + received) + 0.3 + 1.1 + 0.2 + 0.02 + 0.5 + latency + 4.096 + 0.4 + 0.1,
              1e-3);
  for (const Watcher::Put& put : ran.seen.puts) EXPECT_EQ(put.cu, program::no_cu) << "posted by the host thread";
}

// --- Relays
// -------------------------------------------------------------------------------------------------------------------

LibrarySpec with_pxn(LibrarySpec spec) {
  spec.pxn = true;
  return spec;
}

machine::NodeSpec node_of(std::int64_t gpus, std::int64_t nics) {
  machine::NodeSpec node = example_equipped(gpus, 2).node;
  node.nics = nics;
  return node;
}

// Returns the relays that rank `from` of the first of two nodes uses for each rank of the second node.
std::vector<Rank> relays_of(const Relays& relays, Rank from, Rank gpus, bool of_channels = false) {
  std::vector<Rank> all;
  for (Rank to = gpus; to < 2 * gpus; ++to) {
    const Rank relay = of_channels ? relays.of_channel(from, to) : relays.of_message(from, to);
    all.push_back(relay == program::no_rank ? from : relay);
  }
  return all;
}

TEST(Relays, AreTheGpusThatHaveTheNicOfTheReceiversRail) {
  const Relays relays(with_pxn(library()), node_of(4, 4));
  EXPECT_TRUE(relays.any());
  for (Rank from = 0; from < 4; ++from) EXPECT_THAT(relays_of(relays, from, 4), testing::ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(relays.of_message(6, 1), 5) << "the relay is in the sender's node, here the second node";
  EXPECT_EQ(relays.of_message(2, 6), program::no_rank) << "no relay if both ranks are on one rail";
  EXPECT_EQ(relays.of_message(0, 3), program::no_rank) << "no relay if both ranks are in one node";
}

// NCCL gathers all messages of a NIC at its first GPU. A channel only needs a GPU that is near the NIC.
TEST(Relays, OfASharedNicAreItsFirstGpu) {
  const Relays two(with_pxn(library()), node_of(4, 2));
  EXPECT_THAT(relays_of(two, 1, 4), testing::ElementsAre(0, 0, 2, 2));
  EXPECT_THAT(relays_of(two, 2, 4), testing::ElementsAre(0, 0, 2, 2));
  EXPECT_THAT(relays_of(two, 1, 4, true), testing::ElementsAre(1, 1, 2, 2));
  const Relays one(with_pxn(library()), node_of(4, 1));
  for (Rank from = 0; from < 4; ++from) {
    EXPECT_THAT(relays_of(one, from, 4), testing::ElementsAre(0, 0, 0, 0));
    EXPECT_THAT(relays_of(one, from, 4, true), testing::Each(from));
  }
  // As the machine assigns them, GPUs 0 and 1 have NIC 0, GPU 2 has NIC 1, GPUs 3 and 4 have NICs 1 and 2.
  const Relays uneven(with_pxn(library()), node_of(5, 3));
  EXPECT_THAT(relays_of(uneven, 4, 5), testing::ElementsAre(0, 0, 2, 2, 4));
}

TEST(Relays, NeedDirectLinksAndALibraryThatHasThem) {
  EXPECT_FALSE(Relays(library(), node_of(4, 4)).any());
  for (const auto& [wiring, direct] : {std::pair{link::Wiring::nvswitch, true},
                                       {link::Wiring::full_mesh, true},
                                       {link::Wiring::pcie, false},
                                       {link::Wiring::none, false}}) {
    machine::NodeSpec node = node_of(4, 4);
    node.wiring = wiring;
    EXPECT_EQ(Relays(with_pxn(library()), node).any(), direct);
  }
  EXPECT_FALSE(Relays(with_pxn(library()), node_of(1, 1)).any());
  EXPECT_FALSE(Relays(with_pxn(library()), node_of(4, 0)).any());
}

// With PXN no put crosses rails. Messages to a rail other than the sender's are stored at a relay first, which adds
// bytes on the links.
TEST(Messages, PxnStoresToTheRailAndPutsAlongIt) {
  for (const link::Wiring wiring : {link::Wiring::nvswitch, link::Wiring::full_mesh}) {
    for (const double bytes : {1., 100e3, 1234567.}) {
      const libraries::EquippedSystem system = example_equipped(4, 2, wiring);
      const Ran own = run(system, library(4, 2), bytes), relayed = run(system, with_pxn(library(4, 2)), bytes);
      EXPECT_EQ(relayed.result.traffic.put_bytes, own.result.traffic.put_bytes);
      EXPECT_EQ(relayed.result.traffic.scale_up_bytes.value - own.result.traffic.scale_up_bytes.value, 8 * 3 * bytes);
      std::map<Rank, double> handed_on;
      double credits = 0;
      for (const Watcher::Put& put : relayed.seen.puts) {
        if (!put.path.starts_with("NIC")) continue;
        const bool credit = relayed.program->place_of(put.flag).array == 1;
        const Rank nic = static_cast<Rank>(std::stoul(put.path.substr(4)));
        EXPECT_EQ(nic / 4, put.source / 4);
        if (credit) {
          EXPECT_EQ(nic, put.source) << "a receiver uses its own NIC";
          ++credits;
        } else {
          EXPECT_EQ(nic % 4, put.destination % 4);
          if (nic != put.source) handed_on[nic] += put.bytes;
        }
      }
      EXPECT_EQ(handed_on.size(), 8);
      for (const auto& [rank, handed] : handed_on) EXPECT_EQ(handed, 3 * bytes) << rank;
      EXPECT_EQ(credits > 0, bytes > 5e5);
    }
  }
}

// Slots are staged at the relay. The store window limits stores to 50 B/ns, where a copy has 100 B/ns, so a slot takes
// 2.262 instead of 1.764, and stores arrive 0.5 later.
TEST(Messages, ARelayedSlotTakesItsStoresLonger) {
  libraries::EquippedSystem system = example_equipped(2, 2);
  const auto time = [&](const LibrarySpec& spec) {
    return time_of(system, {.kind = Kind::send_recv, .bytes = Bytes{slot}, .method = {.library = spec}, .offset = 3});
  };
  EXPECT_NEAR((time(with_pxn(library(1))) - time(library(1))).us(), sent - received + 0.5, 1e-3);
}

// An All-to-All without PXN is limited by the fabric's bandwidth between rails, here an eighth of the NICs' bandwidth.
TEST(Messages, PxnGainsWhereTheFabricIsNarrowBetweenRails) {
  libraries::EquippedSystem system = example_equipped(4, 2);
  system.fabric.emplace();
  fabric::RailFatTreeSpec& rails = system.fabric->rail_fat_tree.emplace();
  rails.nodes_per_leaf = 2;
  rails.oversubscription = 8;
  rails.routing = fabric::Routing::adaptive;
  LibrarySpec spec = library(8, 2);
  spec.step_overhead = Time::from_ns(100);
  const double bytes = 4e6;
  const double crossing = time_us(system, spec, bytes), along = time_us(system, with_pxn(spec), bytes);
  // 3 of a rank's 4 messages to the other node cross rails; its NIC sends all 4.
  EXPECT_GE(crossing, 3 * bytes / (25e9 / 8) * 1e6);
  EXPECT_GE(along, 4 * bytes / 25e9 * 1e6);
  EXPECT_LE(along, 1.25 * 4 * bytes / 25e9 * 1e6);
  const double star = time_us(example_equipped(4, 2), with_pxn(spec), bytes);
  EXPECT_NEAR(along / star, 1, 0.01) << "with PXN, the narrow part of the fabric has no effect";
}

Time all_to_all_time(const libraries::EquippedSystem& system, const LibrarySpec& spec,
                     std::optional<std::int64_t> channels = std::nullopt) {
  return time_of(system, {.kind = Kind::all_to_all,
                          .bytes = Bytes{slot * static_cast<double>(system.ranks())},
                          .method = {.channels = channels, .library = spec}});
}

TEST(Messages, ItsTimeHasNoLaunchInIt) {
  libraries::EquippedSystem system = example_equipped(2);
  const double of_two_channels = time_us(system, library(2), slot);
  const double of_one_channel = time_us(system, library(1), slot);
  system.node.gpu.host.kernel_start = Time::from_us(3);
  EXPECT_DOUBLE_EQ(all_to_all_time(system, library(2)).us(), of_two_channels);
  EXPECT_DOUBLE_EQ(all_to_all_time(system, library(2), 1).us(), of_one_channel);
  EXPECT_DOUBLE_EQ(all_to_all_time(system, library(1), 2).us(), of_one_channel);
}

// --- Channels
// -----------------------------------------------------------------------------------------------------------

// Returns a library with the message sizes of NCCL 2.28 on GPUs with 18 NVLinks, worked out by hand from
// src/enqueue.cc.
LibrarySpec nccl(std::int64_t channels) {
  LibrarySpec made = library(channels, 64, 8);
  made.peers_at_once = 8;
  made.node.slot = {524288};
  made.node.smallest_share = {65536};
  made.node.largest_share = {16 * 1048576};
  return made;
}

TEST(MessageDeal, ChannelsOfAPeerByMessageSize) {
  const auto shares = [](std::int64_t channels, Rank ranks, double bytes) {
    return deal(nccl(channels), ranks, bytes).shares;
  };
  EXPECT_EQ(shares(32, 4, 1), 1);
  EXPECT_EQ(shares(32, 4, 65537), 2);
  EXPECT_EQ(shares(32, 4, 1e6), 8) << "each of four peers gets 8 of 32 channels";
  EXPECT_EQ(shares(32, 4, 128 * 1048576.), 8);
  EXPECT_EQ(shares(32, 4, 256 * 1048576.), 16) << "no share above 16 MiB";
  EXPECT_EQ(shares(32, 2, 1e9), 32);
  EXPECT_EQ(shares(4, 4, 16 * 1048576.), 1);
  EXPECT_EQ(shares(4, 4, 64 * 1048576.), 4);
  EXPECT_EQ(shares(24, 4, 1e6), 8) << "24 channels count as 32";
  EXPECT_EQ(shares(32, 64, 1e6), 1);
}

TEST(MessageDeal, TurnsStartOnChannelsFarApart) {
  const MessageDeal apart = deal(nccl(32), 4, 1e6);
  EXPECT_EQ(apart.work.size(), 32);
  EXPECT_EQ(apart.turns_side_by_side, std::vector<std::uint32_t>{1});
  const MessageDeal shared = deal(nccl(8), 4, 64 * 1048576.);  // 4 channels per peer
  EXPECT_EQ(shared.work.size(), 8);
  EXPECT_EQ(shared.turns_side_by_side, std::vector<std::uint32_t>{2});
  std::vector<std::vector<std::uint32_t>> turns;
  for (const std::vector<Batch>& channel : shared.work) {
    turns.emplace_back();
    for (const Turn& turn : channel.at(0)) turns.back().push_back(turn.turn);
  }
  const std::vector<std::uint32_t> a{0, 3}, b{0, 2}, c{1, 2}, d{1, 3};
  EXPECT_EQ(turns, (std::vector{a, a, b, b, c, c, d, d}));
}

TEST(MessageDeal, AChannelServesSoManyPeersAtOnceAndThenTheNext) {
  const MessageDeal dealt = deal(nccl(1), 20, 1e6);
  ASSERT_EQ(dealt.work.size(), 1);
  ASSERT_EQ(dealt.work[0].size(), 3);
  EXPECT_EQ(dealt.work[0][0].size(), 8);
  EXPECT_EQ(dealt.work[0][1].size(), 8);
  EXPECT_EQ(dealt.work[0][2].size(), 4);
}

// Compares the turns with the rounds of NCCL's schedule between nodes, worked out by hand from src/init.cc
// (ncclP2pSchedule).
TEST(Turns, GoThroughGroupsInItsOrder) {
  // 5 nodes of 4 GPUs are 5 groups. The schedule takes the numbers below 5 of 0, 1, 3, 6, 2, 7, 5, 4, which are the
  // triangular numbers modulo 8.
  const Turns turns = Turns::of(20, 4, 8);
  EXPECT_EQ(turns.group(), 4);
  std::vector<Rank> met;
  for (Rank turn = 0; turn < 20; turn += 4) met.push_back(turns.to(1, turn));
  EXPECT_EQ(met, (std::vector<Rank>{1, 5, 13, 9, 17}));
  EXPECT_EQ(turns.to(3, 1), 0) << "in turn 1 a rank sends to the next rank of its group";
  EXPECT_EQ(Turns::of(24, 12, 8).group(), 4) << "the largest number that divides both 12 GPUs and 8 peers";
  EXPECT_EQ(Turns::of(12, 12, 8).group(), 12) << "in one node, all ranks are one group";
}

TEST(Turns, EveryPairMeetsOnceAndAtBothEnds) {
  for (const auto& [gpus, nodes] : {std::pair{8, 2}, {4, 3}, {1, 7}, {12, 2}, {16, 3}, {5, 1}}) {
    const auto ranks = static_cast<Rank>(gpus * nodes);
    const Turns turns = Turns::of(ranks, static_cast<Rank>(gpus), 8);
    ASSERT_EQ(turns.ranks(), ranks);
    for (Rank rank = 0; rank < ranks; ++rank) {
      EXPECT_EQ(turns.to(rank, 0), rank);
      std::set<Rank> met;
      for (Rank turn = 0; turn < ranks; ++turn) {
        met.insert(turns.to(rank, turn));
        EXPECT_EQ(turns.from(turns.to(rank, turn), turn), rank);
      }
      EXPECT_EQ(met.size(), ranks);
    }
  }
}

// A peer in another node gets two channels, or four if the NIC has 50 GB/s. With many peers each gets fewer, so that
// the channels suffice for all peers.
TEST(MessageDeal, ChannelsOfAPeerOfAnotherNodeByItsNic) {
  LibrarySpec between = nccl(32);
  between.network = MessageSpec{.channels_per_peer = 2,
                                .slot = {131072},
                                .smallest_share = {65536},
                                .largest_share = {131072},
                                .channel_rate = BytesPerSecond{14e9}};
  const auto shares = [&](std::int64_t nodes, double bandwidth, double bytes) {
    const Turns turns = turns_on(8, nodes, between);
    return deal_messages(between, turns, every_turn(turns.ranks()), RankNetwork{bandwidth}, bytes).shares;
  };
  EXPECT_EQ(shares(2, 12.5e9, 1e8), 2);
  EXPECT_EQ(shares(2, 50e9, 1e8), 4);
  EXPECT_EQ(shares(2, 50e9, 65536), 1);
  EXPECT_EQ(shares(16, 50e9, 1e8), 2);
  EXPECT_EQ(shares(64, 50e9, 1e8), 1);
  const MessageDeal apart = deal_messages(between, turns_on(8, 2, between), every_turn(16), RankNetwork{50e9}, 1e8);
  EXPECT_EQ(apart.work.size(), 8) << "four channels for the own node, and four others for the other node";
  EXPECT_EQ(apart.slot, apart.network_slot);
  EXPECT_EQ(deal_messages(between, turns_on(8, 2, between), every_turn(16), RankNetwork{50e9}, 1e5).network_slot,
            32768);
}

TEST(MessageDeal, SharesAreWholeBlocksAndAddUp) {
  for (const double bytes : {1., 4095., 4096., 4097., 1e6, 1234567., 64e6}) {
    for (const std::int64_t channels : {1, 2, 8, 32}) {
      for (const Rank ranks : {2U, 3U, 4U, 8U, 100U}) {
        const MessageDeal dealt = deal(nccl(channels), ranks, bytes);
        std::map<std::uint32_t, double> sent;
        for (const auto& channel : dealt.work) {
          for (const Batch& batch : channel) {
            EXPECT_LE(batch.size(), 8);
            for (const Turn& turn : batch) sent[turn.turn] += turn.bytes;
          }
        }
        EXPECT_EQ(sent.size(), ranks);
        for (const auto& [turn, total] : sent) EXPECT_EQ(total, bytes) << turn;
        EXPECT_LE(dealt.work.size(), static_cast<std::size_t>(channels));
      }
    }
  }
}

// --- Protocol
// -----------------------------------------------------------------------------------------------------------

struct Shape {
  std::int64_t gpus, nodes;
  link::Wiring wiring;
  LibrarySpec library;
  double bytes;
};

std::vector<Shape> shapes() {
  std::vector<Shape> all;
  for (const auto& [gpus, nodes] : {std::pair{2, 1}, {4, 1}, {8, 1}, {2, 2}, {1, 2}, {1, 3}, {4, 2}}) {
    for (const link::Wiring wiring : {link::Wiring::nvswitch, link::Wiring::full_mesh}) {
      if (gpus == 8 && wiring == link::Wiring::full_mesh) continue;  // the example has 6 links
      for (const double bytes : {1., 7., 100e3, 1.1e6, 1234567.}) {
        all.push_back({gpus, nodes, wiring, library(), bytes});
        all.push_back({gpus, nodes, wiring, library(4, 2, 1), bytes});
        all.push_back({gpus, nodes, wiring, library(16, 4, 2), bytes});
        if (bytes <= 8192) all.push_back({gpus, nodes, wiring, low_latency(4), bytes});
      }
    }
  }
  return all;
}

std::string name_of(const Shape& s) {
  return std::to_string(s.nodes) + " nodes of " + std::to_string(s.gpus) + ", " +
         std::to_string(s.library.max_channels) + " channels, " + std::to_string(s.library.node.channels_per_peer) +
         " a peer, " + std::to_string(s.bytes) + " bytes";
}

// All data that leaves a GPU arrives at another GPU exactly once, and links carry nothing else.
TEST(Messages, EveryByteTravelsOnce) {
  for (const Shape& shape : shapes()) {
    SCOPED_TRACE(name_of(shape));
    const Ran ran = run(example_equipped(shape.gpus, shape.nodes, shape.wiring), shape.library, shape.bytes);
    const auto gpus = static_cast<Rank>(shape.gpus);
    const auto ranks = ran.program->ranks();
    const double travels = shape.bytes * (shape.library.low_latency ? 2 : 1);
    const core::Sharing& sharing = ran.machine->sharing();
    for (core::CapacityId id = 0; id < sharing.capacities(); ++id) {
      const std::string& name = sharing.capacity(id).name;
      if (name.find(" port ") != std::string::npos) {
        EXPECT_NEAR(sharing.served(id), (gpus - 1) * travels, 1e-3) << name;
      } else if (name.find("link ") == 0) {
        EXPECT_NEAR(sharing.served(id), travels, 1e-3) << name;
      }
    }
    double data = 0;
    for (const Watcher::Put& put : ran.seen.puts) {
      const program::FlagPlace place = ran.program->place_of(put.flag);
      EXPECT_EQ(place.rank, put.destination);
      if (place.array == 0) data += put.bytes;
    }
    if (shape.nodes > 1) {
      EXPECT_EQ(data, ranks * (ranks - gpus) * travels);
      EXPECT_EQ(ran.machine->service<part::Networks>().network(0).delivered(), ran.result.traffic.put_bytes);
    } else {
      EXPECT_EQ(ran.result.traffic.puts, 0);
    }
  }
}

// An All-to-All takes as many workgroups as it has channels with work, however many peers there are.
TEST(Messages, TakesAWorkgroupForEachChannelWithWork) {
  for (const Shape& shape : shapes()) {
    SCOPED_TRACE(name_of(shape));
    const Ran ran = run(example_equipped(shape.gpus, shape.nodes, shape.wiring), shape.library, shape.bytes);
    const MessageDeal deal = deal_on(shape.gpus, shape.nodes, shape.library, shape.bytes);
    EXPECT_LE(deal.work.size(), static_cast<std::size_t>(shape.library.max_channels));
    EXPECT_EQ(ran.result.workgroups, deal.work.size() * ran.program->ranks());
    std::map<std::pair<Rank, std::int64_t>, std::set<std::uint32_t>> cus;
    for (const Watcher::Workgroup& span : ran.seen.workgroups) cus[{span.rank, span.workgroup}].insert(span.cu);
    EXPECT_EQ(cus.size(), ran.result.workgroups);
    for (const auto& [workgroup, places] : cus) EXPECT_EQ(places.size(), 1);
  }
}

// Every filled slot raises its flag once, and a receiver returns only as many credits as the sender waits for.
TEST(Messages, FlagsReachTheirFinalValues) {
  for (const Shape& shape : shapes()) {
    SCOPED_TRACE(name_of(shape));
    if (shape.library.low_latency) continue;
    const Ran ran = run(example_equipped(shape.gpus, shape.nodes, shape.wiring), shape.library, shape.bytes);
    std::map<program::FlagRef, std::int64_t> raised;
    for (const Watcher::Put& put : ran.seen.puts) ++raised[put.flag];
    const MessageDeal deal = deal_on(shape.gpus, shape.nodes, shape.library, shape.bytes);
    for (program::FlagRef flag = 0; flag < ran.program->flag_count(); ++flag) {
      const program::FlagPlace place = ran.program->place_of(flag);
      const double share = share_bytes(shape.bytes, deal.shares, place.index % deal.shares);
      const auto chunks = static_cast<std::int64_t>(std::ceil(share / slot));
      const std::int64_t expected = place.array == 0 ? chunks : std::max<std::int64_t>(0, chunks - shape.library.slots);
      EXPECT_EQ(raised[flag], expected) << ran.program->name_of_flag(flag);
    }
  }
}

// A slot is written only after the receiver has emptied it.
TEST(Messages, NoMoreSlotsAreFullThanTheFifoHas) {
  for (const auto& [gpus, nodes] : {std::pair{4, 1}, {2, 2}}) {
    for (const std::int64_t slots : {1, 2, 3}) {
      LibrarySpec slow = library(16, 2, slots);  // enough channels that no two turns share one
      slow.network = slow.node;
      slow.peers_at_once = 1;
      const Ran ran = run(example_equipped(gpus, nodes), slow, 20 * slot);
      const Rank ranks = ran.program->ranks();
      std::map<std::pair<Rank, std::int64_t>, std::vector<Watcher::Workgroup>> sent, received;
      for (const Watcher::Workgroup& span : ran.seen.workgroups) {
        if (span.phase == "send" || span.phase == "stage") sent[{span.rank, span.workgroup}].push_back(span);
        if (span.phase == "receive") received[{span.rank, span.workgroup}].push_back(span);
      }
      const MessageDeal deal = deal_on(gpus, nodes, slow, 20 * slot);
      Time tightest = Time::max();
      for (Rank rank = 0; rank < ranks; ++rank) {
        for (std::size_t channel = 0; channel < deal.work.size(); ++channel) {
          const Rank turn = deal.work[channel].at(0).at(0).turn;
          if (turn == 0) continue;
          const auto& sends = sent[{rank, channel}];
          const auto& receives = received[{turns_on(gpus, nodes, slow).to(rank, turn), channel}];
          ASSERT_EQ(sends.size(), 10);
          ASSERT_EQ(receives.size(), 10);
          for (std::size_t k = 0; k < 10; ++k) {
            EXPECT_GE(receives[k].begin, sends[k].end);
            if (k < static_cast<std::size_t>(slots)) continue;
            const Time gap = sends[k].begin - receives[k - static_cast<std::size_t>(slots)].end;
            EXPECT_GE(gap, Time{});
            tightest = std::min(tightest, gap);
          }
        }
      }
      if (slots > 1 || nodes > 1) continue;
      EXPECT_EQ(tightest, Time::from_us(0.5 + 0.1 + 1)) << "the sender waits for credit, poll and step overhead";
    }
  }
}

TEST(Messages, TwoOfAKindHaveTheirOwnFlags) {
  const libraries::EquippedSystem system = example_equipped(2);
  program::Program program(2);
  program.queues.resize(1);
  builder::Builder build{system, program, program.queues[0]};
  append_all_to_all(build, library(), Bytes{slot}, true, "all_to_all");
  append_all_to_all(build, library(), Bytes{slot}, true, "all_to_all");
  const replay::Result result = replay::run(system, program);
  EXPECT_EQ(result.deadlock, "");
  EXPECT_EQ(result.operations[1].name, "all_to_all#2");
  EXPECT_NEAR(result.end.us(), 2 * (around + 2 + sent + 0.6 + received), 1e-5);
}

}  // namespace
}  // namespace moire::collective
