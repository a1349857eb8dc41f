// Tests times and bytes of whole collectives on the example machine (tests/support/example_equipped.hpp), whose values
// are round numbers.
#include "models/workload/collective/collective.hpp"

#include <gmock/gmock.h>

#include <map>
#include <tuple>

#include "models/workload/collective/algorithms.hpp"
#include "models/workload/collective/timing.hpp"
#include "tests/support/example_channels.hpp"
#include "tests/support/example_equipped.hpp"
#include "tests/support/example_program.hpp"

namespace moire::collective {
namespace {

using libraries::example_equipped;
using libraries::LibrarySpec;
using program::Rank;
using replay::Watcher;

constexpr double chunk = example_chunk;

struct Ran {
  std::unique_ptr<program::Program> program;
  std::unique_ptr<core::RunLoop> loop;
  std::unique_ptr<machine::Machine> machine;
  replay::Result result;
  Watcher seen;
};

Ran run(const libraries::EquippedSystem& system, const Collective& collective) {
  EXPECT_EQ(check(collective, system), std::nullopt);
  Ran ran;
  ran.program = std::make_unique<program::Program>(static_cast<Rank>(system.ranks()));
  ran.program->queues.resize(1);
  builder::Builder build{system, *ran.program, ran.program->queues[0]};
  append(build, collective, name_of(collective.kind));
  ran.loop = std::make_unique<core::RunLoop>();
  ran.machine = machine::build_or_throw(system, *ran.loop);
  ran.result = replay::Replay(*ran.machine, *ran.program, &ran.seen).run();
  EXPECT_EQ(ran.result.deadlock, "");
  return ran;
}

Ran run(std::int64_t gpus, Kind kind, double bytes, Algorithm algorithm,
        const LibrarySpec& library = example_channels()) {
  return run(example_equipped(gpus),
             {.kind = kind, .bytes = Bytes{bytes}, .method = {.algorithm = algorithm, .library = library}});
}

double time_us(std::int64_t gpus, Kind kind, double bytes, Algorithm algorithm,
               const LibrarySpec& library = example_channels()) {
  return run(gpus, kind, bytes, algorithm, library).result.end.us();
}

// Times in us.
constexpr double overhead = 1;
constexpr double way = 0.5 + 0.1;   // store latency to the peer, plus the poll
constexpr double around = 5 + 0.5;  // setup, and the end of a kernel that stored to peers
constexpr double poll = 0.1;

// Returns the overhead plus the time of an op alone on its CU. The sum is the same on all ranks.
double takes(const Ran& ran, const std::string& op) {
  for (const program::PhaseTotal& phase : ran.result.operations[0].phases) {
    if (phase.name == op) return overhead + phase.mean_us();
  }
  ADD_FAILURE() << op;
  return 0;
}

// --- Times
// ------------------------------------------------------------------------------------------------------------

// Alone on a CU, sending is bound by the store window to 50 B/ns; a copy loads and stores at most 100 B/ns, and waits
// 0.4 us for the loads of its only batch.
TEST(Ring, OpsTakeWhatTheirTrafficTakes) {
  const Ran ran = run(4, Kind::all_gather, chunk, Algorithm::ring);
  EXPECT_NEAR(takes(ran, "copy, send"), overhead + 2.048, 0.1);
  EXPECT_NEAR(takes(ran, "receive, copy, send"), overhead + 2.048, 0.1);
  EXPECT_NEAR(takes(ran, "receive"), overhead + 1.024 + 0.4, 0.01);
}

TEST(Ring, AllGatherPassesEveryShareThroughAllRanks) {
  for (const std::int64_t n : {2, 3, 4, 7}) {
    const Ran ran = run(n, Kind::all_gather, chunk, Algorithm::ring);
    EXPECT_NEAR(ran.result.end.us(),
                around + takes(ran, "copy, send") +
                    static_cast<double>(n - 2) * (way + takes(ran, "receive, copy, send")) + way +
                    takes(ran, "receive"),
                1e-4)
        << n;
  }
}

TEST(Ring, ReduceScatterEndsWithASum) {
  for (const std::int64_t n : {2, 3, 4, 7}) {
    const Ran ran = run(n, Kind::reduce_scatter, static_cast<double>(n) * chunk, Algorithm::ring);
    EXPECT_NEAR(ran.result.end.us(),
                around + takes(ran, "send") + static_cast<double>(n - 2) * (way + takes(ran, "receive, reduce, send")) +
                    way + takes(ran, "receive, reduce, copy"),
                1e-4)
        << n;
  }
}

double all_reduce_us(const Ran& ran, std::int64_t n) {
  return around + takes(ran, "send") +
         static_cast<double>(n - 2) *
             (2 * way + takes(ran, "receive, reduce, send") + takes(ran, "receive, copy, send")) +
         way + takes(ran, "receive, reduce, copy, send") + way + takes(ran, "receive");
}

TEST(Ring, AllReduceGoesRoundTwice) {
  for (const std::int64_t n : {2, 3, 4}) {
    const Ran ran = run(n, Kind::all_reduce, static_cast<double>(n) * chunk, Algorithm::ring);
    EXPECT_NEAR(ran.result.end.us(), all_reduce_us(ran, n), 1e-4) << n;
  }
}

// What precedes the wait for the data overlaps with the way of the data, so only the first send adds its preparation,
// and the n - 1 steps that follow it do not.
TEST(Ring, APreparationEndsBeforeTheDataArrive) {
  LibrarySpec thinks = example_channels(), prepares = example_channels();
  thinks.channels->simple.step_overhead = prepares.channels->simple.preparation = Time::from_us(0.4);
  prepares.channels->simple.step_overhead = Time{};
  for (const std::int64_t n : {2, 3, 4}) {
    EXPECT_NEAR(time_us(n, Kind::all_gather, chunk, Algorithm::ring, thinks) -
                    time_us(n, Kind::all_gather, chunk, Algorithm::ring, prepares),
                static_cast<double>(n - 1) * 0.4, 1e-4)
        << n;
  }
}

// One thread takes P = fence + store_return + posting for the flag of a chunk. The other threads go on, but a chunk
// ends only when this thread has raised the flag of the chunk before.
TEST(Ring, OneThreadRaisesTheFlags) {
  LibrarySpec posts = example_channels();
  posts.channels->simple.posting = Time::from_us(5);
  const link::PortSpec& port = example_equipped(2).node.gpu.port;
  const double each = (port.fence + port.store_return).us() + 5;
  const auto with = [&](const LibrarySpec& library, double chunks) {
    return time_us(2, Kind::broadcast, chunks * chunk, Algorithm::ring, library);
  };
  EXPECT_NEAR(with(posts, 1) - with(example_channels(), 1), each, 1e-4);
  EXPECT_NEAR(with(posts, 3) - with(posts, 2), each, 1e-4) << "a chunk takes less than that";
}

TEST(Ring, BroadcastIsAChain) {
  for (const Rank root : {0U, 2U}) {
    const Ran ran = run(example_equipped(4), {.kind = Kind::broadcast,
                                              .bytes = Bytes{chunk},
                                              .method = {.algorithm = Algorithm::ring, .library = example_channels()},
                                              .root = root});
    EXPECT_NEAR(
        ran.result.end.us(),
        around + takes(ran, "send") + 2 * (way + takes(ran, "receive, copy, send")) + way + takes(ran, "receive"),
        1e-4);
    EXPECT_NEAR(ran.result.rank_end[root].us(), around + takes(ran, "send"), 1e-4);
  }
}

// A rank sends the next slice while the previous one is on its way. With n slices a step takes n times a slice's step
// alone, and the latency of the link is hidden.
TEST(Ring, SlicesHideTheWay) {
  LibrarySpec sliced = example_channels();
  sliced.channels->simple.chunk = {2 * chunk};
  sliced.channels->simple.slices = 2;
  const Ran ran = run(4, Kind::all_gather, 2 * chunk, Algorithm::ring, sliced);
  EXPECT_NEAR(ran.result.end.us(),
              around + 2 * (takes(ran, "copy, send") + 2 * takes(ran, "receive, copy, send") + takes(ran, "receive")) +
                  8 * poll,
              1e-4);
}

TEST(Ring, ChannelsShareTheBytes) {
  EXPECT_NEAR(time_us(4, Kind::all_gather, 4 * chunk, Algorithm::ring, example_channels(4)),
              time_us(4, Kind::all_gather, chunk, Algorithm::ring), 2e-3);
}

// Overheads vary from 0 to 2 us around 1 us. Channels end at different times, ranks end at the same time, and every run
// gives the same times. The standard deviation is 0.58 us for one overhead, and 0.58 us x sqrt(128) = 6.5 us for the
// sum over 64 slices sent and 64 received.
TEST(Ring, OverheadsVaryFromSliceToSlice) {
  LibrarySpec varied = example_channels(2);
  varied.channels->simple.step_spread = 1;
  const Collective gather{.kind = Kind::all_gather,
                          .bytes = Bytes{128 * chunk},
                          .method = {.algorithm = Algorithm::ring, .library = varied}};
  const Ran ran = run(example_equipped(2), gather);
  std::map<std::int64_t, Time> ends;
  for (const Watcher::Workgroup& span : ran.seen.workgroups) {
    if (span.rank == 0) ends[span.workgroup] = std::max(ends[span.workgroup], span.end);
  }
  ASSERT_EQ(ends.size(), 2);
  EXPECT_NE(ends[0], ends[1]);
  EXPECT_EQ(ran.result.rank_end[0], ran.result.rank_end[1]);
  EXPECT_EQ(ran.result.end, run(example_equipped(2), gather).result.end);
  const double even = time_us(2, Kind::all_gather, 128 * chunk, Algorithm::ring, example_channels(2));
  EXPECT_NEAR(ran.result.end.us(), even, 3 * 6.5);
}

// With one slot a sender waits for the receiver's credit. Here 2 ranks gather 2 chunks each; for each chunk, both ranks
// send and then receive.
TEST(Ring, AFullFifoHoldsItsSenderUp) {
  LibrarySpec one = example_channels();
  one.channels->simple.slots = 1;
  const Ran ran = run(2, Kind::all_gather, 2 * chunk, Algorithm::ring);
  EXPECT_NEAR(ran.result.end.us(), around + 2 * (takes(ran, "copy, send") + way + takes(ran, "receive")), 1e-4);
  EXPECT_NEAR(time_us(2, Kind::all_gather, 2 * chunk, Algorithm::ring, one), ran.result.end.us() + way, 1e-4);
}

TEST(Tree, AllReduceInANodeGoesUpAndDownAChain) {
  for (const std::int64_t n : {2, 3, 4}) {
    const Ran ran = run(n, Kind::all_reduce, chunk, Algorithm::tree);
    EXPECT_NEAR(ran.result.end.us(), all_reduce_us(ran, n), 1e-4) << n;
  }
}

TEST(Direct, AllGatherSendsToAllAndThenReceives) {
  const Ran two = run(2, Kind::all_gather, chunk, Algorithm::direct);
  EXPECT_NEAR(two.result.end.us(),
              around + takes(two, "copy") - overhead + takes(two, "send") + way + takes(two, "receive"), 1e-4);
  const Ran four = run(4, Kind::all_gather, chunk, Algorithm::direct);
  EXPECT_NEAR(four.result.end.us(),
              around + takes(four, "copy") - overhead + 3 * takes(four, "send") + 3 * (poll + takes(four, "receive")),
              1e-4);
}

TEST(Recursive, AllGatherDoubles) {
  const Ran ran = run(4, Kind::all_gather, chunk, Algorithm::recursive);
  EXPECT_NEAR(ran.result.end.us(),
              around + takes(ran, "copy") - overhead + 3 * (takes(ran, "send") + way + takes(ran, "receive")), 1e-4);
}

// As in recursive doubling, every rank sends and receives N - 1 parts; N need not be a power of two.
TEST(Pat, AllGatherTakesAPartAtATime) {
  const Ran four = run(4, Kind::all_gather, chunk, Algorithm::pat);
  EXPECT_NEAR(four.result.end.us(),
              around + takes(four, "copy") - overhead + 3 * (takes(four, "send") + way + takes(four, "receive")), 1e-4);
  const Ran five = run(5, Kind::all_gather, chunk, Algorithm::pat);
  EXPECT_NEAR(five.result.end.us(),
              around + takes(five, "copy") - overhead + 4 * (takes(five, "send") + way + takes(five, "receive")), 1e-4);
}

// A batch of loads has 512 B. After each batch, the 2 wavefronts pause for 50 ns.
TEST(Lines, AReceiverWorksWhileTheSenderDoes) {
  LibrarySpec lines = example_channels();
  lines.channels->ll = example_lines();
  const double slow = time_us(2, Kind::all_gather, 4096, Algorithm::ring, lines);
  lines.channels->ll->batch_pause = Time::from_ns(50);
  EXPECT_NEAR(time_us(2, Kind::all_gather, 4096, Algorithm::ring, lines) - slow, 2 * 8 * 0.05, 1e-3)
      << "8 batches in each of the two steps";
}

// --- Bytes
// ------------------------------------------------------------------------------------------------------------

double total_traffic(Kind kind, double ranks, double bytes) {
  switch (kind) {
    case Kind::all_gather:
      return ranks * (ranks - 1) * bytes;
    case Kind::all_reduce:
      return 2 * (ranks - 1) * bytes;
    default:
      return (ranks - 1) * bytes;
  }
}

// Each byte travels as often as the algorithm requires. Flags and credits match, so no size deadlocks.
TEST(Collectives, SendWhatTheirAlgorithmSends) {
  for (const auto& [gpus, nodes, wiring] : {std::tuple{2, 1, link::Wiring::nvswitch},
                                            {4, 1, link::Wiring::full_mesh},
                                            {3, 1, link::Wiring::nvswitch},
                                            {2, 2, link::Wiring::nvswitch},
                                            {1, 4, link::Wiring::none},
                                            {2, 4, link::Wiring::nvswitch},
                                            {2, 3, link::Wiring::nvswitch}}) {
    const libraries::EquippedSystem system = example_equipped(gpus, nodes, wiring);
    const auto ranks = static_cast<double>(system.ranks());
    for (const Kind kind : {Kind::all_gather, Kind::reduce_scatter, Kind::all_reduce, Kind::broadcast}) {
      for (const Algorithm algorithm :
           {Algorithm::ring, Algorithm::tree, Algorithm::direct, Algorithm::recursive, Algorithm::pat}) {
        for (const bool by_lines : {false, true}) {
          for (const double bytes : {16. * ranks, 1600. * ranks, 1e6 * ranks}) {
            LibrarySpec library = example_channels(3);
            library.channels->simple.slices = 2;
            library.channels->ll = example_lines();
            if (by_lines && bytes > 1e5) continue;
            const Collective collective{.kind = kind,
                                        .bytes = Bytes{bytes},
                                        .method = {.algorithm = algorithm,
                                                   .protocol = by_lines ? Protocol::ll : Protocol::simple,
                                                   .library = library},
                                        .root = 1};
            if (check(collective, system)) continue;  // the algorithm does not support this case
            SCOPED_TRACE(std::string(name_of(kind)) + " " + name_of(algorithm) + " of " + std::to_string(bytes) +
                         " bytes on " + std::to_string(nodes) + " nodes of " + std::to_string(gpus));
            const Ran ran = run(system, collective);
            double data = ran.result.traffic.scale_up_bytes.value;
            double puts = 0;
            for (const Watcher::Put& put : ran.seen.puts) {
              if (ran.program->place_of(put.flag).array != 0) continue;
              data += put.bytes;
              ++puts;
            }
            // A put has whole bytes, so it may carry up to one byte more than its data. An empty slice is a put of its
            // flag alone, which has 8 bytes.
            const double total = total_traffic(kind, ranks, bytes) * (by_lines ? 2 : 1);
            EXPECT_GE(data, total - 1e-3);
            EXPECT_LE(data, total + 8 * puts + 1e-3);
          }
        }
      }
    }
  }
}

// A slot of 102.4 kB takes 2.262 us to send and 1.764 to receive (messages_test.cpp), each behind a step of 1 us.
TEST(Collectives, AMessageToOnePeerIsOneTurn) {
  const Ran ran =
      run(example_equipped(4),
          {.kind = Kind::send_recv, .bytes = Bytes{chunk}, .method = {.library = example_channels()}, .offset = 3});
  EXPECT_NEAR(ran.result.end.us(), around + 3.262 + 0.6 + 2.764, 1e-3);
  EXPECT_NEAR(ran.result.traffic.scale_up_bytes.value, 4 * chunk, 1e-6);
}

// --- Copies and puts
// -------------------------------------------------------------------------------------------------------------

// Without wrap-around, the last ranks have nobody to send to, and the first ranks have nobody to wait for.
TEST(Collectives, WithoutWrapAroundTheLastRanksSendNothing) {
  for (const Engine engine : {Engine::cu, Engine::dma, Engine::nic}) {
    for (const std::int64_t nodes : {1, 2}) {
      if (engine == Engine::dma && nodes > 1) continue;
      libraries::EquippedSystem system = example_equipped(4, nodes);
      if (engine == Engine::nic && nodes == 1) {
        system = example_equipped(4, 2);
        system.nodes = 1;
      }
      Collective c{.kind = Kind::send_recv,
                   .bytes = Bytes{chunk},
                   .method = {.engine = engine, .library = example_channels()},
                   .offset = 3,
                   .wraps = false};
      const Ran ran = run(system, c);
      const double far = nodes == 1 ? 0 : 3;   // 1 to 4, 2 to 5, 3 to 6
      const double near = nodes == 1 ? 1 : 2;  // 0 to 3, 4 to 7
      EXPECT_NEAR(ran.result.traffic.scale_up_bytes.value, near * chunk, 1e-6);
      double data = 0;
      for (const Watcher::Put& put : ran.seen.puts) {
        if (!put.path.starts_with("NIC") || put.bytes == 8) continue;
        EXPECT_EQ(put.destination, put.source + 3);
        data += put.bytes;
      }
      EXPECT_NEAR(data, far * chunk, 1e-6);
      c.wraps = true;
      const part::Traffic round = run(system, c).result.traffic;
      EXPECT_GT(round.scale_up_bytes.value + round.put_bytes.value, (near + far) * chunk + 100);
    }
  }
}

// If rings leave a node through the NIC by which they entered it (PXN), every byte that leaves the node crosses the
// links one more time.
TEST(Ring, LeavesANodeOverTheGpuThatHasItsNic) {
  const libraries::EquippedSystem system = example_equipped(4, 2);
  LibrarySpec library = example_channels();
  library.channels->ll = example_lines();
  library.channels->network = {.rate = {25e9}, .doubled_from = {1e12}, .few = 0, .port_share = 1};
  for (const Protocol protocol : {Protocol::simple, Protocol::ll}) {
    const auto traffic = [&](bool pxn) {
      library.pxn = pxn;
      const Ran ran = run(system, {.kind = Kind::all_gather,
                                   .bytes = Bytes{4 * chunk},
                                   .method = {.algorithm = Algorithm::ring, .protocol = protocol, .library = library}});
      for (const Watcher::Put& put : ran.seen.puts) {
        if (!put.path.starts_with("NIC") || put.bytes == 8) continue;
        EXPECT_EQ(std::stoul(put.path.substr(4)) % 4, put.destination % 4) << "the put stays on its rail";
        EXPECT_EQ(put.path != "NIC " + std::to_string(put.source), pxn);
      }
      return ran.result.traffic;
    };
    const part::Traffic by_its_own = traffic(false), by_one = traffic(true);
    EXPECT_EQ(by_one.put_bytes, by_its_own.put_bytes);
    // In each of the two directions between the nodes, all rings together send 7 of the 8 shares. A share has 4 chunks.
    const double data = 2 * 7. * 4 * chunk * (protocol == Protocol::ll ? 2 : 1);
    EXPECT_NEAR(by_one.scale_up_bytes.value - by_its_own.scale_up_bytes.value, data, 1e-3);
  }
}

// The first command takes 10 us, 2 us pass from one copy to the next, and 1 MB at 100 GB/s takes 10 us.
TEST(Copies, FollowEachOtherOnOneQueue) {
  const Collective gather{.kind = Kind::all_gather, .bytes = Bytes{1e6}, .method = {.engine = Engine::dma}};
  EXPECT_NEAR(run(example_equipped(4), gather).result.end.us(), 10 + 3 * 10 + 2 * 2, 1e-5);
  Collective all = gather;
  all.kind = Kind::all_to_all;
  all.bytes = Bytes{4e6};
  EXPECT_NEAR(run(example_equipped(4), all).result.end.us(), 10 + 3 * 10 + 2 * 2, 1e-5);
}

// If a GPU runs one copy at a time, streams change nothing. If it runs three copies, each on an engine of its own, the
// three take as long as one copy.
TEST(Copies, OnStreamsTakeAsManyEnginesAsThereAre) {
  Collective gather{
      .kind = Kind::all_gather, .bytes = Bytes{1e6}, .method = {.engine = Engine::dma, .streams = Streams::per_peer}};
  libraries::EquippedSystem system = example_equipped(4);
  EXPECT_NEAR(run(system, gather).result.end.us(), 10 + 3 * 10 + 2 * 2, 1e-5);
  system.node.gpu.dma.peer_concurrency = 3;
  const Ran ran = run(system, gather);
  EXPECT_NEAR(ran.result.end.us(), 20, 1e-5);
  EXPECT_EQ(ran.result.operations.size(), 1);
  gather.method.streams = Streams::one;
  EXPECT_NEAR(run(system, gather).result.end.us(), 10 + 3 * 10 + 2 * 2, 1e-5) << "one queue runs one copy at a time";
}

// The host enqueues copies one after the other, 4 us each.
TEST(Copies, WaitForTheHost) {
  libraries::EquippedSystem system = example_equipped(4);
  system.node.gpu.dma.peer_concurrency = 3;
  system.node.gpu.host.enqueue = Time::from_us(4);
  const Collective gather{
      .kind = Kind::all_gather, .bytes = Bytes{1e6}, .method = {.engine = Engine::dma, .streams = Streams::per_peer}};
  EXPECT_NEAR(run(system, gather).result.end.us(), 3 * 4 + 20, 1e-5);
}

// A command behind each copy writes the flag at the copy's end, and the engine reads the next copy's command only then:
// the copies end at 20, 40 and 60 us, and those of the GPU that sees its release last 8 x 4 / 5 - 8 / 2 us later. If
// engines write flags themselves, they read commands during the copies.
TEST(Copies, WithFlagsWaitForTheCommandsThatWriteThem) {
  libraries::EquippedSystem system = example_equipped(4);
  const Collective gather{
      .kind = Kind::all_gather, .bytes = Bytes{1e6}, .method = {.engine = Engine::dma, .flags = true}};
  EXPECT_NEAR(run(system, gather).result.end.us(), 10 + 3 * 10 + 2 * 2, 1e-5);
  system.node.gpu.host.poll_interval = Time::from_us(8);
  EXPECT_NEAR(run(system, gather).result.end.us(), 60 + 8. * 4 / 5 - 8. / 2, 1e-5);
}

// In ascending order ranks 1 to 3 all begin with rank 0. At 300 GB/s its port would still give each of them 100 GB/s,
// as much as a copy takes; at 150 GB/s they slow down.
TEST(Copies, InAscendingOrderMeetAtReceivers) {
  libraries::EquippedSystem system = example_equipped(4);
  system.node.gpu.port.link_bandwidth = {25e9};  // 150 GB/s
  Collective gather{.kind = Kind::all_gather, .bytes = Bytes{1e6}, .method = {.engine = Engine::dma}};
  const double rotated = run(system, gather).result.end.us();
  gather.method.order = Order::ascending;
  EXPECT_NEAR(rotated, 44, 1e-5);
  EXPECT_GT(run(system, gather).result.end.us(), rotated + 9);
}

TEST(Copies, OfABroadcastComeFromTheRoot) {
  const Ran ran = run(example_equipped(4),
                      {.kind = Kind::broadcast, .bytes = Bytes{1e6}, .method = {.engine = Engine::dma}, .root = 2});
  EXPECT_NEAR(ran.result.rank_end[2].us(), 44, 1e-5);
  EXPECT_NEAR(ran.result.traffic.scale_up_bytes.value, 3e6, 1e-6);
}

TEST(Copies, TakeTheOwnShareAlongIfAskedTo) {
  const Ran ran = run(example_equipped(2), {.kind = Kind::all_gather,
                                            .bytes = Bytes{1e6},
                                            .method = {.engine = Engine::dma, .own_share = OwnShare::copied}});
  EXPECT_EQ(ran.result.operations.size(), 2);
  EXPECT_NEAR(ran.result.traffic.scale_up_bytes.value, 2e6, 1e-6);
}

TEST(Puts, GoToOtherNodesAndStoresToTheOwn) {
  for (const Kind kind : {Kind::all_gather, Kind::all_to_all, Kind::broadcast}) {
    const Ran ran =
        run(example_equipped(2, 2), {.kind = kind, .bytes = Bytes{4e6}, .method = {.engine = Engine::nic}, .root = 1});
    const double message = kind == Kind::all_to_all ? 1e6 : 4e6;
    const double senders = kind == Kind::broadcast ? 1 : 4;
    EXPECT_NEAR(ran.result.traffic.put_bytes.value, senders * 2 * message, 1e-3) << name_of(kind);
    EXPECT_NEAR(ran.result.traffic.scale_up_bytes.value, senders * message, 1e-3) << name_of(kind);
    for (const Watcher::Put& put : ran.seen.puts) {
      EXPECT_TRUE(put.bytes == 0 || put.cu != program::no_cu) << "posted by a workgroup";
    }
  }
}

// --- Refusals
// -------------------------------------------------------------------------------------------------------------

std::string refusal(const Collective& collective, const libraries::EquippedSystem& system) {
  return check(collective, system).value_or(config::Problem{}).str();
}

TEST(Collectives, SayWhyTheyCannotRun) {
  using ::testing::HasSubstr;
  const LibrarySpec library = example_channels();
  LibrarySpec messages = library;
  messages.channels.reset();
  EXPECT_THAT(refusal({.kind = Kind::all_gather}, example_equipped(1)), HasSubstr("at least 2 ranks"));
  EXPECT_THAT(refusal({.kind = Kind::all_gather}, example_equipped(2)), HasSubstr("needs a collective library"));
  EXPECT_THAT(refusal({.kind = Kind::all_gather, .method = {.library = messages}}, example_equipped(2)),
              HasSubstr("does not describe channels"));
  EXPECT_THAT(refusal({.kind = Kind::all_gather, .method = {.protocol = Protocol::ll128, .library = library}},
                      example_equipped(2)),
              HasSubstr("has no protocol ll128"));
  EXPECT_THAT(refusal({.kind = Kind::all_reduce, .method = {.engine = Engine::dma}}, example_equipped(2)),
              HasSubstr("cannot reduce"));
  EXPECT_THAT(refusal({.kind = Kind::all_gather, .method = {.engine = Engine::dma}}, example_equipped(2, 2)),
              HasSubstr("only between GPUs of one node"));
  EXPECT_THAT(refusal({.kind = Kind::all_gather, .method = {.engine = Engine::nic}}, example_equipped(2)),
              HasSubstr("needs NICs"));
  EXPECT_THAT(refusal({.kind = Kind::reduce_scatter, .method = {.algorithm = Algorithm::tree, .library = library}},
                      example_equipped(2)),
              HasSubstr("tree reduce_scatter does not exist"));
  EXPECT_THAT(refusal({.kind = Kind::all_gather, .method = {.algorithm = Algorithm::recursive, .library = library}},
                      example_equipped(3)),
              HasSubstr("power of two"));
  EXPECT_THAT(refusal({.kind = Kind::all_to_all, .method = {.algorithm = Algorithm::ring, .library = library}},
                      example_equipped(2)),
              HasSubstr("directly"));
  EXPECT_THAT(refusal({.kind = Kind::broadcast, .method = {.library = library}, .root = 2}, example_equipped(2)),
              HasSubstr("no rank 2"));
  EXPECT_THAT(refusal({.kind = Kind::send_recv, .method = {.library = library}, .offset = 2}, example_equipped(2)),
              HasSubstr("the offset is 2"));
  libraries::EquippedSystem with = example_equipped(2);
  with.software.library = library;
  EXPECT_EQ(refusal({.kind = Kind::all_gather}, with), "") << "the library of the system is used";
}

}  // namespace
}  // namespace moire::collective
