// Tests MSCCL++ plans on the example machine (tests/support/example_equipped.hpp), whose values are round numbers: the
// time of single operations, and laws that hold for every plan. Every plan that the checker accepts must end.
#include "models/workload/collective/mscclpp.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "models/algorithms/mscclpp/check.hpp"
#include "models/algorithms/mscclpp/plan_program.hpp"
#include "models/algorithms/mscclpp/reader.hpp"
#include "models/hardware/replay/replay.hpp"
#include "models/workload/collective/channel_kernel.hpp"
#include "tests/support/example_equipped.hpp"
#include "tests/support/example_plan.hpp"
#include "tests/support/mutate_plan.hpp"
#include "tests/support/source_dir.hpp"

namespace moire::collective {
namespace {

namespace fs = std::filesystem;
using libraries::example_equipped;
using mscclpp::at;
using mscclpp::Example;
using mscclpp::move;
using mscclpp::nop;
using mscclpp::peers;
using mscclpp::Plan;

libraries::PlanLibrarySpec example_library() {
  libraries::PlanLibrarySpec library;
  library.name = "example";
  library.registers_per_thread = 32;
  library.setup = Time::from_us(1);
  library.operation = Time::from_ns(10);
  library.meet = Time::from_ns(20);
  library.fence = Time::from_ns(200);
  library.expect = Time::from_ns(50);
  library.vector = Bytes{16};
  library.packet_data = Bytes{8};
  library.packet_wire = 2;
  library.proxy_latency = Time::from_ns(100);
  library.copy_call = Time::from_ns(200);
  return library;
}

Plan read(const std::string& name, const std::string& text) {
  config::Diagnostics diagnostics;
  auto plan = mscclpp::read_plan(name, text, diagnostics);
  EXPECT_TRUE(plan.has_value()) << diagnostics.str();
  return plan.value_or(Plan{});
}

Plan shipped(const fs::path& file) {
  std::ifstream in(fs::path(support::source_dir()) / file, std::ios::binary);
  return read(file.string(), {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()});
}

std::string refusal(const Plan& plan, std::uint64_t bytes, std::uint32_t node) {
  config::Diagnostics diagnostics;
  EXPECT_EQ(mscclpp::plan_program(plan, bytes, node, diagnostics), nullptr);
  return diagnostics.str();
}

replay::Result run(const libraries::EquippedSystem& system, const Plan& plan, std::uint64_t bytes,
                   std::int64_t threads = 64) {
  config::Diagnostics diagnostics;
  const bool stores = system.node.wiring != link::Wiring::none;
  auto steps =
      mscclpp::plan_program(plan, bytes, static_cast<std::uint32_t>(stores ? system.node.gpus : 1), diagnostics);
  EXPECT_TRUE(steps) << diagnostics.str();
  program::Program program(static_cast<Rank>(system.ranks()));
  program.queues.resize(1);
  builder::Builder build{system, program, program.queues[0]};
  append_plan_kernel(build, std::move(steps), example_library(), threads, 4, "plan");
  core::RunLoop loop;
  const auto machine = machine::build_or_throw(system, loop);
  return replay::Replay(*machine, program).run();
}

// Makes an in-place all-gather of two GPUs, in which each GPU has one thread block with the operations `ops` and one
// chunk of input.
Plan pair(const std::vector<std::string>& ops) {
  return read("pair", Example::of_two([&](int, int) { return std::vector<std::vector<std::string>>{ops}; }).text());
}

constexpr std::uint64_t round_of_64 = std::uint64_t{64} * 16;  // bytes that 64 threads load at once

// The first loads also wait for what the peer stores to the memory meanwhile: a nanosecond per KiB.
constexpr double first_loads = 2;
constexpr double last = 500;  // a kernel that stored to peers ends one store latency later

TEST(PlanKernel, APutIsALoadAStoreAndASignal) {
  const Plan plan = pair({mscclpp::signal(), mscclpp::wait(), move("put", {at("i", 0)}, {peers(1, 0)}), nop(),
                          mscclpp::signal(), mscclpp::wait()});
  // The terms are, in order: setup; operation with fence, store latency, poll; operation, load; operation with barrier;
  // operation with fence, store latency, poll; end of a kernel that stored to a peer.
  const Time whole = Time::from_ns(1000 + 210 + 500 + 100 + 10 + 400 + 30 + 210 + 500 + 100 + last);
  EXPECT_NEAR(run(example_equipped(2), plan, 2 * round_of_64).end.ns(), whole.ns(), first_loads);
  EXPECT_NEAR(run(example_equipped(2), plan, round_of_64).end.ns(), whole.ns(), first_loads)
      << "half of the threads have no data";
  EXPECT_EQ(run(example_equipped(2), plan, 4 * round_of_64).end, whole + Time::from_ns(400));
}

TEST(PlanKernel, AGetLoadsFromThePeer) {
  const Plan plan = pair({move("get", {peers(0, 0)}, {at("o", 1)})});
  libraries::EquippedSystem system = example_equipped(2);
  EXPECT_EQ(run(system, plan, 2 * round_of_64).end, Time::from_ns(1000 + 10 + 2 * 500));
  system.node.gpu.port.load_latency = Time::from_ns(700);
  EXPECT_EQ(run(system, plan, 2 * round_of_64).end, Time::from_ns(1000 + 10 + 700));
}

TEST(PlanKernel, PacketsNeedNoSignal) {
  const Plan plan = pair({move("ppkt", {at("i", 0)}, {peers(2, 0)}), move("upkt", {at("s", 0)}, {at("o", 1)})});
  // Packets leave after one load (400 ns) and arrive 500 ns later, and the receiver's poll takes 100 ns.
  const replay::Result result = run(example_equipped(2), plan, round_of_64);  // 8 B of data per thread
  EXPECT_NEAR(result.end.ns(), 1000 + 10 + 400 + 500 + 100 + last, first_loads);
  EXPECT_EQ(result.traffic.scale_up_bytes.value, 2 * 2 * 512);  // each GPU sends 512 B of data and 512 B of flags
}

TEST(PlanKernel, APortInANodeIsTheCopyEngineAndAThreadOfTheHost) {
  const Plan plan = pair({move("pws", {at("i", 0)}, {peers(1, 0)}, mscclpp::over_port), mscclpp::wait(0, "port")});
  constexpr std::uint64_t bytes = 112000;  // 1.12 us of the engine's 100 GB/s
  // The terms are, in order: setup; operation with fence; host proxy; first command, data; next command of the engine,
  // which writes 8 B of semaphore; poll.
  const Time signal{80};  // 8 B at the engine's 100 GB/s, in ps
  EXPECT_EQ(run(example_equipped(2), plan, 2 * bytes).end,
            Time::from_ns(1000 + 210 + 300 + 10000 + 1120 + 2000 + 100) + signal);
  // If the first command was measured between events, the time of the events is subtracted.
  libraries::EquippedSystem system = example_equipped(2);
  system.node.gpu.host.event_pair = Time::from_us(4);
  EXPECT_EQ(run(system, plan, 2 * bytes).end, Time::from_ns(1000 + 210 + 300 + 6000 + 1120 + 2000 + 100) + signal);
}

TEST(PlanKernel, APortBetweenNodesIsTheNic) {
  const Plan plan = pair({move("pwsf", {at("i", 0)}, {peers(1, 0)}, mscclpp::over_port), mscclpp::wait(0, "port")});
  const replay::Result result = run(example_equipped(1, 2), plan, 1 << 20);
  EXPECT_EQ(result.deadlock, "");
  EXPECT_EQ(result.traffic.puts, 4);
  EXPECT_EQ(result.traffic.put_bytes.value, 2 * ((1 << 19) + 8));
  EXPECT_GT(result.end, Time::from_us(20));  // 512 KiB at 25 GB/s
}

TEST(PlanKernel, ASumLoadsFromPeersAndKeepsItsOwn) {
  Example example = Example::of_two([](int, int) {
    return std::vector<std::vector<std::string>>{{mscclpp::signal(), mscclpp::wait(),
                                                  move("rre", {at("i", 0), peers(0, 0)}, {at("o", 0)}), nop(),
                                                  mscclpp::signal(), mscclpp::wait()}};
  });
  example.collective = "allreduce";
  example.in_place = false;
  example.output_chunks = 1;
  const Plan plan = read("sum", example.text());
  EXPECT_EQ(run(example_equipped(2), plan, round_of_64).end,
            Time::from_ns(1000 + 810 + 10 + 2 * 500 + 400 + 30 + 810 + last));  // two signals and waits
}

// Pipelines run in rounds and move all bytes, also if the last round has fewer bytes.
TEST(PlanKernel, PipelinesMoveAllBytes) {
  const Plan plan = pair(
      {mscclpp::signal(), mscclpp::wait(),
       mscclpp::pipeline(4096, {move("put", {at("i", 0)}, {peers(1, 0)}), nop(), mscclpp::signal(), mscclpp::wait()})});
  for (const std::uint64_t bytes : {16, 4096, 4112, 8192, 100000}) {
    const replay::Result result = run(example_equipped(2), plan, 2 * bytes);
    EXPECT_EQ(result.deadlock, "") << bytes;
    EXPECT_EQ(result.traffic.scale_up_bytes.value, 2 * static_cast<double>(bytes)) << bytes;
  }
}

TEST(PlanKernel, WhatChannelsDoNotDoIsRefusedWhereItStands) {
  const Plan through_switch = pair({move("gstore", {at("i", 0)}, {mscclpp::group(0)}, mscclpp::over_switch)});
  EXPECT_THAT(refusal(through_switch, 32, 2),
              testing::AllOf(testing::HasSubstr("gpu 0 tb 0 op 0 (gstore) uses a switch channel"),
                             testing::HasSubstr("use memory or port channels")));
  const Plan between_nodes = pair({mscclpp::signal(), mscclpp::wait()});
  EXPECT_THAT(refusal(between_nodes, 32, 1),
              testing::HasSubstr("gpu 0 tb 0 op 0 (signal) uses a memory channel to gpu 1, whose memory its threads "
                                 "cannot reach; use a port channel"));
  Example two = Example::of_two([](int, int) {
    return std::vector<std::vector<std::string>>{{mscclpp::signal(), mscclpp::signal(), mscclpp::wait()},
                                                 {mscclpp::wait()}};
  });
  EXPECT_THAT(refusal(read("two", two.text()), 32, 2),
              testing::HasSubstr("gpu 0 tb 1 op 0 (wait) waits for the same channel or semaphore as tb 0"));
}

constexpr const char* plans[] = {"tests/data/allgather_puts.plan.json",
                                 "tests/data/allreduce_packets.plan.json",
                                 "tests/data/allreduce_v1.plan.json",
                                 "tests/data/alltoall_shared.plan.json",
                                 "tests/data/reducescatter_ports.plan.json",
                                 "tests/data/through_scratch.plan.json",
                                 "configs/algorithms/2gpu_all_gather_put.plan.json",
                                 "configs/algorithms/2gpu_all_gather_get.plan.json",
                                 "configs/algorithms/2gpu_all_gather_packets.plan.json",
                                 "configs/algorithms/2gpu_all_gather_port.plan.json",
                                 "configs/algorithms/8gpu_all_reduce_packets.plan.json"};

// With more bytes, a time must be at least the time with fewer bytes multiplied by this factor. The factor is below 1
// because every step may round by a picosecond, and because the parts of thread blocks may differ by one unit, which
// changes the order in which their stores contend.
constexpr double as_soon = 1 - 1e-4;

class Laws : public ::testing::TestWithParam<const char*> {
 protected:
  Laws() : plan_(shipped(GetParam())), system_(example_equipped(plan_.ranks())) {
    system_.node.gpu.compute.groups = {{.cus = 16, .count = 2}};  // 32 CUs hold 32 thread blocks
    unit_ = std::uint64_t{mscclpp::message_chunks(plan_)} * plan_.alignment;
  }
  replay::Result time(std::uint64_t units) const { return run(system_, plan_, units * unit_, plan_.threads); }

  Plan plan_;
  libraries::EquippedSystem system_;
  std::uint64_t unit_ = 1;
};

TEST_P(Laws, MoreBytesAreNeverSooner) {
  Time before;
  for (const std::uint64_t units : {1, 2, 3, 7, 64, 65, 1000, 4097, 16384, 65536}) {
    if (units * unit_ > plan_.max_bytes) break;
    const replay::Result result = time(units);
    EXPECT_EQ(result.deadlock, "") << units;
    EXPECT_GE(result.end.us(), before.us() * as_soon) << units;
    before = result.end;
  }
}

TEST_P(Laws, MoreBandwidthIsNeverLater) {
  for (const std::uint64_t units : {3, 1000, 20000}) {
    const Time before = time(units).end;
    const libraries::EquippedSystem narrow = system_;
    system_.node.gpu.port.link_bandwidth.value *= 2;
    system_.node.gpu.dma.bandwidth.value *= 2;
    EXPECT_LE(time(units).end, before) << units;
    system_ = narrow;
  }
}

// The links carry the data that operations store at peers, and the semaphores that copy engines write.
TEST_P(Laws, BytesOnTheLinksAreThoseOfThePlan) {
  constexpr std::uint64_t units = 32 * 21;  // a multiple of the number of thread blocks that share any operation
  const double chunk = static_cast<double>(units * unit_ / mscclpp::message_chunks(plan_));
  double bytes = 0;
  for (const mscclpp::Gpu& gpu : plan_.gpus) {
    for (const mscclpp::Block& block : gpu.blocks) {
      for (const mscclpp::Operation& op : block.operations) {
        using enum mscclpp::OpType;
        const bool port = op.channel_type == mscclpp::ChannelType::port;
        if (port && (op.type == signal || op.type == put_signal || op.type == put_signal_flush))
          bytes += 8 * static_cast<double>(op.channels.size());
        for (const mscclpp::Operand& to : op.destinations) {
          if (to.place != mscclpp::Operand::Place::remote) continue;
          bytes += to.count * chunk * (to.packets ? 2 : 1) / op.parts;
        }
      }
    }
  }
  EXPECT_NEAR(time(units).traffic.scale_up_bytes.value, bytes, 1e-3);
}

TEST_P(Laws, TheSameAgain) { EXPECT_EQ(time(777).end, time(777).end); }

// Every mutated plan that the checker accepts also ends in the simulation.
TEST_P(Laws, WhatIsAcceptedEnds) {
  const int mutants = plan_.gpus.size() > 4 ? 3 : 60;  // the proof of a plan for eight GPUs takes long
  std::mt19937_64 random(7);
  int timed = 0;
  for (int i = 0; i < mutants; ++i) {
    Plan mutant = plan_;
    mscclpp::mutate(mutant, random);
    config::Diagnostics diagnostics;
    const mscclpp::Verdict verdict = mscclpp::check(mutant, diagnostics);
    if (!verdict.judged || !diagnostics.ok() || !verdict.faults.empty()) continue;
    config::Diagnostics refused;
    if (!mscclpp::plan_program(mutant, 8 * unit_, static_cast<std::uint32_t>(system_.node.gpus), refused)) continue;
    EXPECT_EQ(run(system_, mutant, 8 * unit_, mutant.threads).deadlock, "") << "mutant " << i;
    ++timed;
  }
  RecordProperty("timed", timed);
}

INSTANTIATE_TEST_SUITE_P(Plans, Laws, ::testing::ValuesIn(plans), [](const auto& tested) {
  std::string stem = fs::path(tested.param).stem().stem().string();
  return "of_" + stem;
});

}  // namespace
}  // namespace moire::collective
