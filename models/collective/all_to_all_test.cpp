#include "models/collective/all_to_all.hpp"

#include <gmock/gmock.h>

#include <map>

#include "models/replay/example_program.hpp"

namespace moire::models::collective {
namespace {

using machine::example_system;
using program::Rank;
using replay::Watcher;

// One channel sends 50 B/ns (store window), copies 100 B/ns and waits 1 us at every step.
LibrarySpec library(std::int64_t channels = 1, std::int64_t per_peer = 1, std::int64_t slots = 4) {
  LibrarySpec made;
  made.name = "example";
  made.max_channels = channels;
  made.channels_per_peer = per_peer;
  made.threads = 512;
  made.registers_per_thread = 32;
  made.slot = {100e3};
  made.slots = slots;
  made.bytes_in_flight = {80e3};
  made.setup = Time::from_us(5);
  made.step_overhead = Time::from_us(1);
  return made;
}

struct Ran {
  std::unique_ptr<program::Program> program;
  std::unique_ptr<core::RunLoop> loop;
  std::unique_ptr<machine::Machine> machine;
  replay::Result result;
  Watcher seen;
};

Ran run(const machine::SystemSpec& system, const LibrarySpec& spec, double bytes) {
  Ran ran;
  ran.program = std::make_unique<program::Program>(static_cast<Rank>(system.ranks()));
  ran.program->queues.resize(1);
  builder::Builder build{system, *ran.program, ran.program->queues[0]};
  append_all_to_all(build, spec, Bytes{bytes});
  ran.loop = std::make_unique<core::RunLoop>();
  ran.machine = machine::build_or_throw(system, *ran.loop);
  ran.result = replay::Replay(*ran.machine, *ran.program, &ran.seen).run();
  EXPECT_EQ(ran.result.deadlock, "");
  return ran;
}

double time_us(const machine::SystemSpec& system, const LibrarySpec& spec, double bytes) {
  return run(system, spec, bytes).result.end.us();
}

// --- Time
// -------------------------------------------------------------------------------------------------------------

// Setup 5; every slot costs the sender 1 + 100 kB / 50 B/ns = 3; then 0.5 store latency, 0.1 poll and the receiver's
// 1 + 100 kB / 100 B/ns = 2. From the fifth slot on the sender looks at its credits: 0.1 a poll.
TEST(AllToAll, OneChannelIsPacedByItsSender) {
  for (const int slots : {1, 2, 4, 5, 9}) {
    const double expected = 5 + 3 * slots + 0.1 * std::max(0, slots - 4) + 0.5 + 0.1 + 2;
    EXPECT_DOUBLE_EQ(time_us(example_system(2), library(), slots * 100e3), expected) << slots << " slots";
  }
}

// With a FIFO of one slot sender and receiver take turns: 3 + 0.5 + 0.1 + 2, and 0.5 + 0.1 for the credit between.
TEST(AllToAll, AFifoOfOneSlotAlternates) {
  for (const int slots : {1, 2, 7}) {
    EXPECT_DOUBLE_EQ(time_us(example_system(2), library(1, 1, 1), slots * 100e3), 5 + 5.6 * slots + 0.6 * (slots - 1))
        << slots;
  }
}

// The receiver sets the pace at the end: it polls, and finds the short slot there, when it has emptied the one before.
TEST(AllToAll, TheLastSlotMayBeShort) {
  EXPECT_DOUBLE_EQ(time_us(example_system(2), library(), 250e3), 5 + 2 * 3 + 0.6 + 2 + 0.1 + 1.5);
}

TEST(AllToAll, UnstagedTheReceiverOnlyPolls) {
  LibrarySpec direct = library();
  direct.staged = false;
  EXPECT_DOUBLE_EQ(time_us(example_system(2), direct, 200e3), 5 + 2 * 3 + 0.5 + 0.1);
}

TEST(AllToAll, ChannelsShareTheWork) {
  EXPECT_DOUBLE_EQ(time_us(example_system(2), library(4, 4), 400e3), 5 + 3 + 0.5 + 0.1 + 2);
}

// One channel serves its peers one after the other; the receiving half keeps up.
TEST(AllToAll, OneChannelServesItsPeersInTurn) {
  EXPECT_DOUBLE_EQ(time_us(example_system(4), library(), 100e3), 5 + 3 * 3 + 0.5 + 0.1 + 2);
}

// Between nodes: stage 1 + 1, put 0.3, proxy 1.1, doorbell 0.2, work requests 0.02, PCIe 0.5, wire 4 a slot, flag 0.4.
TEST(AllToAll, BetweenNodesAProxySendsWhatWasStaged) {
  const machine::SystemSpec system = example_system(1, 2);
  for (const int slots : {1, 4}) {
    const Ran ran = run(system, library(), slots * 100e3);
    std::vector<core::LinkId> path;
    ran.machine->topology()->route(0, 1, 0, path);
    double latency = 0;
    for (const core::LinkId link : path) latency += ran.machine->topology()->links()[link].latency.us();
    EXPECT_NEAR(ran.result.end.us(), 5 + 2 + 0.3 + 1.1 + 0.2 + 0.02 + 0.5 + latency + slots * 4 + 0.4 + 0.1 + 2, 20e-6)
        << slots;
    for (const Watcher::Put& put : ran.seen.puts) EXPECT_EQ(put.cu, program::no_cu) << "posted by the host thread";
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
        all.push_back({gpus, nodes, wiring, library(3, 2, 1), bytes});
        all.push_back({gpus, nodes, wiring, library(16, 3, 2), bytes});
      }
    }
  }
  return all;
}

std::string name_of(const Shape& s) {
  return std::to_string(s.nodes) + " nodes of " + std::to_string(s.gpus) + ", " +
         std::to_string(s.library.max_channels) + " channels, " + std::to_string(s.library.channels_per_peer) +
         " a peer, " + std::to_string(s.bytes) + " bytes";
}

// What goes out of a GPU comes into another, once, and no link carries anything else.
TEST(AllToAll, EveryByteTravelsOnce) {
  for (const Shape& shape : shapes()) {
    SCOPED_TRACE(name_of(shape));
    const Ran ran = run(example_system(shape.gpus, shape.nodes, shape.wiring), shape.library, shape.bytes);
    const auto gpus = static_cast<Rank>(shape.gpus);
    const auto ranks = ran.program->ranks();
    for (Rank rank = 0; rank < ranks; ++rank) {
      const machine::RankCapacities& own = ran.machine->capacities(rank);
      if (own.egress != core::no_id) {
        EXPECT_NEAR(ran.machine->sharing().served(own.egress), (gpus - 1) * shape.bytes, 1e-3);
        EXPECT_NEAR(ran.machine->sharing().served(own.ingress), (gpus - 1) * shape.bytes, 1e-3);
      }
      for (const core::CapacityId link : own.to_peer) {
        if (link == core::no_id) continue;
        EXPECT_NEAR(ran.machine->sharing().served(link), shape.bytes, 1e-3);
      }
    }
    double data = 0;
    for (const Watcher::Put& put : ran.seen.puts) {
      const program::FlagPlace place = ran.program->place_of(put.flag);
      EXPECT_EQ(place.rank, put.destination);
      if (place.array == 0) data += put.bytes;
    }
    if (shape.nodes > 1) {
      EXPECT_EQ(data, ranks * (ranks - gpus) * shape.bytes);
      EXPECT_EQ(ran.machine->network()->delivered(), ran.result.put_bytes);
      const std::vector<core::LinkUse> use = ran.machine->network()->use();
      for (core::EndpointId e = 0; e < ranks; ++e) {
        std::vector<core::LinkId> out, in;
        ran.machine->topology()->route(e, (e + gpus) % ranks, 0, out);
        ran.machine->topology()->route((e + gpus) % ranks, e, 0, in);
        EXPECT_EQ(use[out.front()].carried, use[in.back()].carried);
        EXPECT_GE(use[out.front()].carried.value, (ranks - gpus) * shape.bytes);
      }
    } else {
      EXPECT_EQ(ran.result.puts, 0);
    }
  }
}

// Every slot that is filled is announced once and no more credits return than somebody waits for.
TEST(AllToAll, FlagsReachTheirFinalValues) {
  for (const Shape& shape : shapes()) {
    SCOPED_TRACE(name_of(shape));
    const Ran ran = run(example_system(shape.gpus, shape.nodes, shape.wiring), shape.library, shape.bytes);
    std::map<program::FlagRef, std::int64_t> raised;
    for (const Watcher::Put& put : ran.seen.puts) ++raised[put.flag];
    const std::int64_t per_peer = shape.library.channels_per_peer;
    for (program::FlagRef flag = 0; flag < ran.program->flag_count(); ++flag) {
      const program::FlagPlace place = ran.program->place_of(flag);
      const std::int64_t share = place.index % per_peer;
      const auto bytes = static_cast<std::int64_t>(shape.bytes);
      const std::int64_t unit = bytes * (share + 1) / per_peer - bytes * share / per_peer;
      const std::int64_t chunks = (unit + 99'999) / 100'000;
      const std::int64_t expected = place.array == 0 ? chunks : std::max<std::int64_t>(0, chunks - shape.library.slots);
      EXPECT_EQ(raised[flag], expected) << ran.program->name_of_flag(flag);
    }
  }
}

// A slot is written only after the receiver has emptied it.
TEST(AllToAll, NoMoreSlotsAreFullThanTheFifoHas) {
  for (const auto& [gpus, nodes] : {std::pair{4, 1}, {2, 2}}) {
    for (const std::int64_t slots : {1, 2, 3}) {
      LibrarySpec slow = library(16, 2, slots);
      const Ran ran = run(example_system(gpus, nodes), slow, 1.9e6);
      const Rank ranks = ran.program->ranks();
      std::map<std::pair<Rank, std::int64_t>, std::vector<Watcher::Workgroup>> work;  // by rank and workgroup
      for (const Watcher::Workgroup& span : ran.seen.workgroups) {
        if (span.phase == "send" || span.phase == "stage" || span.phase == "receive")
          work[{span.rank, span.workgroup}].push_back(span);
      }
      Time tightest = Time::max();
      for (Rank rank = 0; rank < ranks; ++rank) {
        for (std::int64_t unit = 0; unit < 2 * (ranks - 1); ++unit) {  // a channel each
          const Rank to = (rank + 1 + static_cast<Rank>(unit / 2)) % ranks;
          const auto& sends = work[{rank, 2 * unit}];
          const auto& receives = work[{to, 2 * unit + 1}];
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
      EXPECT_EQ(tightest, Time::from_us(0.5 + 0.1 + 1)) << "credit, poll, step overhead";
    }
  }
}

// In turn k rank r stores to r + k, so no two ranks store to one.
TEST(AllToAll, NoTwoSendersMeetAtAReceiver) {
  const Ran ran = run(example_system(8), library(1, 1), 100e3);
  std::map<Time, std::map<Rank, int>> begins;  // senders' starts by time
  std::map<Rank, int> turns;
  for (const Watcher::Workgroup& span : ran.seen.workgroups) {
    if (span.phase != "send") continue;
    ++begins[span.begin][(span.rank + static_cast<Rank>(++turns[span.rank])) % 8];
  }
  EXPECT_EQ(begins.size(), 7);
  for (const auto& [time, receivers] : begins) EXPECT_EQ(receivers.size(), 8) << time.us();
}

TEST(AllToAll, TwoOfAKindHaveTheirOwnFlags) {
  const machine::SystemSpec system = example_system(2);
  program::Program program(2);
  program.queues.resize(1);
  builder::Builder build{system, program, program.queues[0]};
  append_all_to_all(build, library(), Bytes{300e3});
  append_all_to_all(build, library(), Bytes{300e3});
  const replay::Result result = replay::run(system, program);
  EXPECT_EQ(result.deadlock, "");
  EXPECT_EQ(result.operations[1].name, "all_to_all#2");
  EXPECT_EQ(result.end, Time::from_us(2 * (5 + 9 + 0.6 + 2)));
}

}  // namespace
}  // namespace moire::models::collective
