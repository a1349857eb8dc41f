#include "models/hardware/cu/phase_class.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <filesystem>
#include <map>

#include "models/hardware/cu/instructions.hpp"
#include "models/hardware/memory/cache.hpp"
#include "sim/config/config.hpp"
#include "tests/support/example_system.hpp"
#include "tests/support/source_dir.hpp"

namespace moire::cu {
namespace {

using program::PhaseShape;
using ::testing::ElementsAre;
using ::testing::Pair;

machine::SystemSpec load_system(const std::string& file) {
  config::Diagnostics diagnostics;
  const auto root =
      config::load(std::filesystem::path(support::source_dir()) / "configs/systems" / file, {}, diagnostics);
  const auto spec = root ? config::parse<machine::SystemSpec>(*root, diagnostics) : std::nullopt;
  EXPECT_TRUE(spec && diagnostics.ok()) << diagnostics.str();
  return spec.value_or(machine::SystemSpec{});
}

PhaseShape copy(double in_flight) { return {.name = "copy", .read = 1, .write = 1, .in_flight = {in_flight}}; }
PhaseShape waited_for(PhaseShape shape) {
  shape.pipelined = false;
  return shape;
}
CuLoad alone(const PhaseShape& shape) { return {shape.in_flight.value, shape.flop > 0 ? 1U : 0U}; }

std::map<std::string, double> demands(machine::Machine& machine, const core::ClassSpec& spec) {
  std::map<std::string, double> sums;
  for (const core::Demand& d : spec.demands) sums[machine.sharing().capacity(d.capacity).name] += d.per_work;
  return sums;
}

struct Never final : core::EventSink {
  void fire(std::uint64_t) override {}
};

// Returns the rate of a class with a single member on an idle machine, according to the sharing law.
double rate_alone(machine::Machine& machine, const core::ClassSpec& spec) {
  Never never;
  const core::ClassId id = machine.sharing().add_class(spec);
  machine.sharing().start(id, 1e9, never, 0);
  machine.loop().settle();
  return machine.sharing().rate_of(id);
}

// --- The H200

class H200 : public ::testing::Test {
 protected:
  core::RunLoop loop;
  std::unique_ptr<machine::Machine> machine = machine::build_or_throw(load_system("4xh200.yaml"), loop);
  core::ClassSpec class_of(const PhaseShape& shape, part::Rank peer = 0) {
    return phase_class(machine->gpu().compute, machine->site(), shape, 0, peer, alone(shape));
  }
};

// Measured on an idle GPU: a workgroup of 512 threads with 16 B in flight per thread copies 19.7 GB/s. With 64 and 128
// B per thread, it copies 48.6 and 49.0 GB/s.
TEST_F(H200, ASmallCopyIsBoundByLatencyALargeOneByItsSm) {
  for (const auto& [batch, measured] : {std::pair{8192., 19.7}, {32768., 48.6}, {65536., 49.0}}) {
    PhaseShape shape = waited_for(copy(batch));
    shape.threads = 512;
    EXPECT_NEAR(rate_alone(*machine, class_of(shape)) * 1e-9, measured, 0.08 * measured) << batch;
  }
}

// More bytes in flight per CU must never make a copy slower. In an earlier model, a copy whose batch exceeded the CU's
// bytes in flight overlapped its stores with its loads, and was faster than a copy whose batch fitted.
TEST(PhaseClass, MoreRoomInFlightIsNeverSlower) {
  machine::SystemSpec system = load_system("4xh200.yaml");
  for (const double batch : {4096., 38400., 65536.}) {
    const PhaseShape shape = waited_for(copy(batch));
    double before = 0;
    for (double room = 1024; room < 4e5; room *= 1.2) {
      system.node.gpu.compute.bytes_in_flight_per_cu = Bytes{room};
      core::RunLoop loop;
      const auto machine = machine::build_or_throw(system, loop);
      const double rate =
          rate_alone(*machine, phase_class(machine->gpu().compute, machine->site(), shape, 0, 0, alone(shape)));
      EXPECT_GE(rate, before * (1 - 1e-9)) << batch << " B a batch, room for " << room;
      before = rate;
    }
  }
}

// Measured: gathers of 512 B rows by one workgroup of 256 threads, with 1 to 16 loads per thread and batch.
TEST_F(H200, ABatchOfRowsTakesLatencyAndItsWavefrontsTime) {
  for (const auto& [batch, measured] :
       {std::pair{4096., 9.97}, {8192., 17.66}, {16384., 30.99}, {32768., 51.85}, {65536., 81.8}}) {
    const PhaseShape gather{.name = "gather", .read = 1, .pipelined = false, .random_rows = true, .in_flight = {batch}};
    EXPECT_NEAR(rate_alone(*machine, class_of(gather)) * 1e-9, measured, 0.075 * measured) << batch;
  }
}

// Measured: contiguous reads of one workgroup reach 18.7, 63.1 and 103.8 GB/s with 8, 32 and 64 KiB in flight.
TEST_F(H200, ABatchOfARunOfAddressesComesFaster) {
  for (const auto& [batch, measured] : {std::pair{8192., 18.7}, {32768., 63.1}, {65536., 103.8}}) {
    const PhaseShape read{.name = "read", .read = 1, .pipelined = false, .in_flight = {batch}};
    EXPECT_NEAR(rate_alone(*machine, class_of(read)) * 1e-9, measured, 0.07 * measured) << batch;
  }
}

// Measured: one workgroup loads 3.81, 14.4, 27.2 and 50.7 GB/s from a peer's memory with batches of 4, 16, 32 and 64
// KiB.
TEST_F(H200, LoadsFromAPeerTakeTheirOwnLatency) {
  for (const auto& [batch, measured] : {std::pair{4096., 3.81}, {16384., 14.4}, {32768., 27.2}, {65536., 50.7}}) {
    const PhaseShape load{.name = "load", .peer_read = 1, .pipelined = false, .in_flight = {batch}};
    EXPECT_NEAR(rate_alone(*machine, class_of(load, 1)) * 1e-9, measured, 0.03 * measured) << batch;
  }
}

// Measured: the GPU reads 4,595 GB/s, writes 4,298, copies 1,818 (reads and writes as much each), and reads 4,440 in
// random rows of 512 B. h200.yaml is fitted to all rows of each benchmark, not only to these numbers.
TEST_F(H200, TheMemoryServesReadsWritesAndTheirMixAsMeasured) {
  const auto most = [&](const PhaseShape& shape) {
    return machine->gpu().hbm.bandwidth.value / demands(*machine, class_of(shape))["rank 0 HBM"] * 1e-9;
  };
  EXPECT_NEAR(most({.name = "read", .read = 1, .in_flight = {32768}}), 4595, 0.025 * 4595);
  EXPECT_NEAR(most({.name = "write", .write = 1, .in_flight = {32768}}), 4298, 0.03 * 4298);
  EXPECT_NEAR(most(copy(32768)), 1818, 0.04 * 1818);
  PhaseShape gather{.name = "gather", .read = 1, .in_flight = {32768}};
  memory::loads_rows(machine->gpu().hbm, Bytes{512}, gather);
  EXPECT_NEAR(most(gather), 4440, 0.02 * 4440);
}

// Measured: in long grids, 768 MiB more of random rows of 64 and of 32 B are read at 2,507 and 1,253 GB/s. The memory
// is not full then: row numbers that are loaded beside the rows take no longer.
TEST_F(H200, TheMemoryOpensSoManyRowsPerSecond) {
  const memory::HbmSpec& hbm = machine->gpu().hbm;
  for (const auto& [row, measured] : {std::pair{64., 2507.}, {32., 1253.}}) {
    PhaseShape gather{.name = "gather", .read = row, .in_flight = {8192}};
    memory::loads_rows(hbm, Bytes{row}, gather);
    const auto alone = demands(*machine, class_of(gather));
    EXPECT_NEAR(hbm.random_access_rate->value / alone.at("rank 0 HBM rows") * row * 1e-9, measured, 0.01 * measured);
    EXPECT_LT(alone.at("rank 0 HBM") / hbm.bandwidth.value,
              alone.at("rank 0 HBM rows") / hbm.random_access_rate->value);
    gather.read += 4;
    gather.dependent_read = 4;
    EXPECT_DOUBLE_EQ(demands(*machine, class_of(gather)).at("rank 0 HBM rows"), alone.at("rank 0 HBM rows"));
  }
}

// Measured: 8 workgroups of each SM read random rows of 32 and 64 B that the L2 holds at 31.5 and 61.5 GB/s, so a row
// takes two clocks. One workgroup reads rows of 32 B at 25.3 GB/s in batches of 64 KiB. Rows of 512 B take their bytes.
TEST_F(H200, ACuRequestsARowInTwoClocks) {
  const CuArraySpec& compute = machine->gpu().compute;
  const auto gather = [&](double row, double in_flight) {
    PhaseShape shape{.name = "gather", .read = 1, .random_rows = true, .in_flight = {in_flight}};
    memory::loads_rows(machine->gpu().hbm, Bytes{row}, shape);
    return waited_for(shape);
  };
  EXPECT_DOUBLE_EQ(*compute.clocks_per_row, 2);
  for (const auto& [row, measured] : {std::pair{32., 31.5}, {64., 61.5}}) {
    const double cu = class_of(gather(row, 8192)).bound;
    EXPECT_DOUBLE_EQ(cu, compute.clock.value / 2 * row);
    EXPECT_NEAR(cu * 1e-9, measured, 0.05 * measured);
  }
  EXPECT_DOUBLE_EQ(class_of(gather(512, 8192)).bound, compute.load_store_per_cu.value);
  EXPECT_NEAR(rate_alone(*machine, class_of(gather(32, 65536))) * 1e-9, 25.3, 0.1 * 25.3);
  PhaseShape busy = gather(32, 65536);
  busy.instructions.all = 1e-3;  // instructions that take less time than the requests change nothing
  EXPECT_DOUBLE_EQ(class_of(busy).delay, class_of(gather(32, 65536)).delay);
}

// Lines of popular rows come one after the other, also if nothing else limits a workgroup.
TEST_F(H200, ABatchTakesLongerByTheWaitForPopularLines) {
  PhaseShape shape = {.name = "gather", .read = 1, .pipelined = false, .random_rows = true, .in_flight = {32768}};
  memory::loads_rows(machine->gpu().hbm, Bytes{512}, shape);
  const double before = rate_alone(*machine, class_of(shape));
  shape.slice_wait = 5e-12;
  EXPECT_NEAR(1 / rate_alone(*machine, class_of(shape)) - 1 / before, 5e-12, 1e-14);
}

// What neighbouring CUs have just requested passes neither the L2 nor the group's way to it again.
TEST_F(H200, MergedRequestsTakeNoBandwidthOfTheL2AndTheGroup) {
  PhaseShape gather{.name = "gather", .read = 1, .random_rows = true, .in_flight = {32768}};
  memory::loads_rows(machine->gpu().hbm, Bytes{512}, gather);
  const auto of_group = [&] {
    CuLoad load = alone(gather);
    load.group_in_flight = 1e9;
    return phase_class(machine->gpu().compute, machine->site(), gather, 0, 0, load);
  };
  const core::ClassSpec before = of_group();
  gather.read_merged = 0.2;
  EXPECT_DOUBLE_EQ(of_group().bound, before.bound / 0.8);
  EXPECT_DOUBLE_EQ(demands(*machine, of_group())["rank 0 L2"], demands(*machine, before)["rank 0 L2"] * 0.8);
  EXPECT_DOUBLE_EQ(demands(*machine, of_group())["rank 0 HBM"], demands(*machine, before)["rank 0 HBM"]);
}

// Measured: one workgroup that stores to a peer reaches 50.0 GB/s.
TEST_F(H200, StoresToAPeerAreBoundByTheStoreWindow) {
  const PhaseShape store{.name = "store", .peer_write = 1, .in_flight = {65536}};
  const machine::GpuSpec& gpu = machine->gpu();
  const double window = gpu.port.store_window_per_cu.value / gpu.port.store_latency.seconds();
  EXPECT_DOUBLE_EQ(class_of(store, 1).bound, window);
  EXPECT_NEAR(window * 1e-9, 50, 0.5);
  const PhaseShape send{.name = "send", .read = 1, .peer_write = 1, .in_flight = {65536}};
  const double stored = gpu.compute.peer_store_cost.value_or(gpu.compute.store_cost);
  EXPECT_DOUBLE_EQ(class_of(send, 1).bound, gpu.compute.load_store_per_cu.value / (1 + stored))
      << "it has to load what it stores";
}

TEST_F(H200, ArithmeticIsTheRateOfOneSm) {
  const PhaseShape matrix{.name = "tile", .flop = 2, .unit = program::Arithmetic::matrix_16bit, .in_flight = {}};
  const CuArraySpec& compute = machine->gpu().compute;
  EXPECT_DOUBLE_EQ(class_of(matrix).bound, compute.matrix_16bit.value * compute.matrix_efficiency / 132 / 2);
  const PhaseShape vector{.name = "sum", .flop = 2, .in_flight = {}};
  EXPECT_DOUBLE_EQ(class_of(vector).bound, compute.vector_fp32.value / 132 / 2);
}

// --- Shares of a CU

class Example : public ::testing::Test {
 protected:
  core::RunLoop loop;
  machine::SystemSpec system = machine::example_system(2);
  std::unique_ptr<machine::Machine> machine = machine::build_or_throw(system, loop);
  core::ClassSpec class_of(const PhaseShape& shape, const CuLoad& load, part::Rank peer = 0) {
    return phase_class(machine->gpu().compute, machine->site(), shape, 0, peer, load);
  }
};

TEST_F(Example, WorkgroupsOfACuShareItsWindowByWhatTheyAskFor) {
  const PhaseShape read{.name = "read", .read = 1, .in_flight = {30e3}};
  EXPECT_DOUBLE_EQ(class_of(read, {30e3, 0}).window, 30e3);
  EXPECT_DOUBLE_EQ(class_of(read, {40e3, 0}).window, 30e3) << "the miss queue just holds both";
  EXPECT_DOUBLE_EQ(class_of(read, {60e3, 0}).window, 20e3);
  EXPECT_DOUBLE_EQ(class_of(read, {120e3, 0}).window, 10e3);
  EXPECT_DOUBLE_EQ(class_of(read, {60e3, 0}).weight, 20e3);
}

TEST_F(Example, LoadStoreAndStoreWindowAreSharedToo) {
  const PhaseShape send{.name = "send", .read = 1, .peer_write = 1, .in_flight = {100e3}};
  EXPECT_DOUBLE_EQ(class_of(send, {100e3, 0}, 1).bound, 50e9) << "25 kB / 500 ns";
  EXPECT_DOUBLE_EQ(class_of(send, {200e3, 0}, 1).bound, 25e9);
  EXPECT_DOUBLE_EQ(class_of(copy(100e3), {100e3, 0}).bound, 100e9) << "half of 200 GB/s for each direction";
  EXPECT_DOUBLE_EQ(class_of(copy(100e3), {400e3, 0}).bound, 25e9);
}

TEST_F(Example, ArithmeticIsSharedByThoseThatCompute) {
  const PhaseShape vector{.name = "sum", .flop = 4, .in_flight = {}};
  EXPECT_DOUBLE_EQ(class_of(vector, {0, 1}).bound, 1e12 / 4);
  EXPECT_DOUBLE_EQ(class_of(vector, {0, 5}).bound, 1e12 / 5 / 4);
  const PhaseShape matrix{.name = "tile", .flop = 4, .unit = program::Arithmetic::matrix_16bit, .in_flight = {}};
  EXPECT_DOUBLE_EQ(class_of(matrix, {0, 1}).bound, 5e12 / 4);
}

TEST_F(Example, APipelinedPhaseTakesItsSlowestDemand) {
  PhaseShape shape{.name = "gather", .read = 100, .flop = 1, .in_flight = {40e3}};
  EXPECT_DOUBLE_EQ(rate_alone(*machine, class_of(shape, {40e3, 1})), 1e9) << "40 kB / 400 ns / 100 B";
  shape.flop = 2000;
  EXPECT_DOUBLE_EQ(rate_alone(*machine, class_of(shape, {40e3, 1})), 0.5e9) << "1 TFLOP/s / 2000";
}

TEST_F(Example, AUnitOfSeveralBytesKeepsFewerUnitsInFlight) {
  const core::ClassSpec spec = class_of({.name = "read", .read = 1000, .in_flight = {40e3}}, {40e3, 0});
  EXPECT_DOUBLE_EQ(spec.window, 40);
  EXPECT_DOUBLE_EQ(spec.weight, 40);
}

TEST_F(Example, HitsCostL2OnlyAndMissesFetchWholeGrains) {
  const PhaseShape shape{
      .name = "gather", .read = 100, .read_miss = 0.25, .read_overfetch = 1.5, .write = 10, .in_flight = {8e3}};
  const core::ClassSpec spec = class_of(shape, alone(shape));
  EXPECT_THAT(demands(*machine, spec), ElementsAre(Pair("rank 0 HBM", 100 * 0.25 * 1.5 + 10), Pair("rank 0 L2", 110)));
  EXPECT_DOUBLE_EQ(spec.latency, 0.25 * 400e-9 + 0.75 * 100e-9);
}

TEST_F(Example, StoresMayCostACuMoreThanLoads) {
  system.node.gpu.compute.store_cost = 3;
  machine = machine::build_or_throw(system, loop);
  EXPECT_DOUBLE_EQ(class_of(copy(100e3), {100e3, 0}).bound, 200e9 / (1 + 3));
  const PhaseShape write{.name = "write", .write = 2, .in_flight = {100e3}};
  EXPECT_DOUBLE_EQ(class_of(write, {100e3, 0}).bound, 200e9 / (3 * 2));
}

TEST_F(Example, ABatchThatIsWaitedForKeepsNothingInFlightMeanwhile) {
  PhaseShape read{.name = "read", .read = 1, .in_flight = {20e3}};
  EXPECT_DOUBLE_EQ(rate_alone(*machine, class_of(read, {20e3, 0})), 50e9);
  read.pipelined = false;
  EXPECT_DOUBLE_EQ(rate_alone(*machine, class_of(read, {20e3, 0})), 40e9) << "20 kB in 400 ns + 20 kB / 200 GB/s";
}

// A unit of work has two batches of 10 kB and one load on which both depend. It takes three latencies of 400 ns,
// 2 x 10 kB at 200 GB/s, and a pause of 150 ns.
TEST_F(Example, DependentLoadsAndPausesAreTimeWithNothingInFlight) {
  const PhaseShape task{.name = "task",
                        .read = 20e3,
                        .pipelined = false,
                        .dependent_loads = 1,
                        .pause = Time::from_ns(150),
                        .in_flight = {10e3}};
  const core::ClassSpec spec = class_of(task, {10e3, 0});
  EXPECT_NEAR(1e9 / rate_alone(*machine, spec), 3 * 400 + 2 * 50 + 150, 1e-6);
  EXPECT_NEAR(spec.weight * 20e3, 10e3 / 1.5, 1e-6) << "of three latencies two have a batch in flight";
}

TEST_F(Example, AWavefrontsRandomRowsComeOneByOne) {
  system.node.gpu.compute.load_per_wavefront = BytesPerSecond{10e9};
  machine = machine::build_or_throw(system, loop);
  PhaseShape rows{.name = "rows", .read = 1, .pipelined = false, .random_rows = true, .in_flight = {20e3}};
  const auto wavefronts = static_cast<double>(256 / system.node.gpu.compute.wavefront);
  EXPECT_DOUBLE_EQ(class_of(rows, {20e3, 0}).delay, 20e3 / (wavefronts * 10e9));
  rows.threads = 128;
  EXPECT_DOUBLE_EQ(class_of(rows, {20e3, 0}).delay, 20e3 / (wavefronts / 2 * 10e9));
  rows.active_threads = 64;
  EXPECT_DOUBLE_EQ(class_of(rows, {20e3, 0}).delay, 20e3 / (wavefronts / 4 * 10e9));
}

// A wavefront waits for 16 rows of 512 B, which are 64 lines. On an idle memory, the wait takes the latency of the
// slowest line. In a saturated memory, the slowest line waits 1 + ln 64 times as long in the queue as a single line.
TEST_F(Example, ABatchWaitsForItsSlowestLine) {
  system.node.gpu.compute.load_per_wavefront = BytesPerSecond{10e9};
  system.node.gpu.hbm.latency_spread = Time::from_ns(50);
  machine = machine::build_or_throw(system, loop);
  const double slowest = std::log(64.);
  PhaseShape rows{
      .name = "rows", .read = 1, .pipelined = false, .random_rows = true, .threads = 256, .in_flight = {64 * 1024}};
  CuLoad load{65536, 0};
  system.node.gpu.compute.bytes_in_flight_per_cu = {1e6};
  machine = machine::build_or_throw(system, loop);
  const double time = 400e-9 + 50e-9 * slowest + 8192 / 10e9;
  const core::ClassSpec spec = class_of(rows, load);
  EXPECT_NEAR((spec.latency + spec.delay) / spec.window, time / 65536, 1e-6 * time / 65536);
  EXPECT_NEAR(spec.window, 65536 / (1 + slowest), 1e-6);
  EXPECT_DOUBLE_EQ(spec.latency, 0.25 * 400e-9);
  // At contiguous addresses, only the lines of the first load are independent.
  rows.random_rows = false;
  EXPECT_NEAR(class_of(rows, load).delay * (1 + slowest) + 100e-9 * (1 + slowest),
              400e-9 + 50e-9 * std::log(4.) + 8192 / 10e9, 1e-15);
  // Nine of ten rows hit, but all 16 rows rarely hit together.
  rows.random_rows = true;
  rows.read_miss = 0.1;
  const double all_hit = std::pow(0.9, 16);
  EXPECT_NEAR((class_of(rows, load).delay + 100e-9) * (1 + std::log(6.4)),
              all_hit * 100e-9 + (1 - all_hit) * (400e-9 + 50e-9 * std::log(6.4)) + 8192 / 10e9, 1e-15);
}

// The slowest of n independent loads takes latency_spread x ln n longer than one, so the last of w wavefronts ends
// latency_spread x ln w after an average one.
TEST_F(Example, TheLastWavefrontEndsWithTheSlowestOfAllLoads) {
  system.node.gpu.hbm.latency_spread = Time::from_ns(50);
  machine = machine::build_or_throw(system, loop);
  const auto lag = [&](const PhaseShape& shape, double workgroups) {
    return straggling(machine->gpu().compute, machine->site(), shape, 0, workgroups).ns();
  };
  PhaseShape rows{
      .name = "rows", .read = 1, .pipelined = false, .random_rows = true, .threads = 256, .in_flight = {64 * 1024}};
  const auto wavefronts = static_cast<double>(256 / system.node.gpu.compute.wavefront);
  EXPECT_NEAR(lag(rows, 1), 50 * std::log(wavefronts), 1e-3);
  EXPECT_NEAR(lag(rows, 528), 50 * std::log(528 * wavefronts), 1e-3);
  rows.active_threads = static_cast<std::int64_t>(system.node.gpu.compute.wavefront);
  EXPECT_EQ(lag(rows, 1), 0) << "one wavefront waits for nobody";
  // If nearly all rows hit, a workgroup waits for memory more often than one of its wavefronts does.
  rows.active_threads = 0;
  rows.read_miss = 0.01;
  const double rows_of_one = 64 * 1024 / wavefronts / (16 * static_cast<double>(system.node.gpu.compute.wavefront));
  const auto slowest = [&](double number) {
    const double hit = std::pow(0.99, number * rows_of_one);
    return hit * 100 + (1 - hit) * (400 + 50 * std::log(std::max(1., 0.01 * number * 64 * 1024 / wavefronts / 128)));
  };
  EXPECT_NEAR(lag(rows, 1), slowest(wavefronts) - slowest(1), 1e-3);
  rows.read_miss = 0;
  EXPECT_EQ(lag(rows, 528), 0) << "all hits take the same time";
  rows.read_miss = 1;
  rows.random_rows = false;
  EXPECT_EQ(lag(rows, 528), 0) << "neighbouring lines arrive together";
  rows.random_rows = true;
  rows.pipelined = true;
  EXPECT_EQ(lag(rows, 528), 0) << "nothing waits for a batch";
  rows.pipelined = false;
  rows.read_miss = 0.01;
  system.node.gpu.l2.hit_latency = Time::from_us(2);
  machine = machine::build_or_throw(system, loop);
  EXPECT_EQ(lag(rows, 528), 0) << "hits take longer than misses";
}

TEST_F(Example, ACopysLoadsAndStoresTakeTurns) {
  PhaseShape twice = waited_for(copy(40e3));  // loads take 400 ns + 40 kB / 200 GB/s; the CU takes 80 kB / 200 GB/s
  twice.in_flight = {40e3};
  const double rate = rate_alone(*machine, class_of(twice, {40e3, 0}));
  EXPECT_NEAR(40e3 / rate * 1e9, std::pow(std::pow(600., 4) + std::pow(400., 4), 0.25), 1e-6);
}

// A CU issues 2 instructions per clock. Beside another workgroup, a batch waits for slots (instructions_test.cpp). The
// slots limit what does not wait for batches.
TEST_F(Example, IssueSlotsLimitWorkgroupsWithManyInstructions) {
  PhaseShape rows{.name = "rows",
                  .read = 20e3,
                  .flop = 1,
                  .instructions = {.all = 1000},
                  .pipelined = false,
                  .random_rows = true,
                  .in_flight = {20e3}};
  system.node.gpu.compute.issue_per_clock = 2;
  machine = machine::build_or_throw(system, loop);
  const CuArraySpec& compute = system.node.gpu.compute;
  const double clock = compute.clock.value;
  const auto time = [&](std::uint32_t computing) {
    const core::ClassSpec spec = class_of(rows, {20e3, computing});
    return (spec.latency + spec.delay) / spec.window;
  };
  EXPECT_NEAR(time(2) - time(1), wait_for_slots(compute, rows, 1, time(1), 1, 2), 1e-15);
  EXPECT_GT(time(3), time(2));
  PhaseShape sums{.name = "sums", .flop = 1, .instructions = {.all = 1000}, .in_flight = {}};
  EXPECT_DOUBLE_EQ(class_of(sums, {0, 1}).bound, 2 * clock / 1000) << "without loads";
  EXPECT_DOUBLE_EQ(class_of(sums, {0, 2}).bound, clock / 1000);
  rows.pipelined = true;
  rows.random_rows = false;
  EXPECT_DOUBLE_EQ(class_of(rows, {20e3, 2}).bound, clock / 1000);
  EXPECT_DOUBLE_EQ(class_of(rows, CuLoad{.in_flight = 20e3, .computing = 2, .clock = 0.5}).bound, 0.5 * clock / 1000);
}

// A wavefront that requests a part of a batch when the first row is there waits one more latency.
TEST_F(Example, ASplitBatchWaitsForItsFirstRow) {
  PhaseShape rows{.name = "rows", .read = 20e3, .pipelined = false, .random_rows = true, .in_flight = {20e3}};
  const auto time = [&] {
    const core::ClassSpec spec = class_of(rows, {20e3, 0});
    return (spec.latency + spec.delay) / spec.window;
  };
  const double before = time();
  rows.row_waits = 1;
  EXPECT_NEAR((time() - before) * 1e9, 400, 1e-6) << "the example's latency";
}

// A gather's stores follow its loads. Those of a copy are issued while the next batch is on its way.
TEST_F(Example, AGatherStoresAfterItsLoads) {
  PhaseShape task{.name = "task", .read = 20e3, .write = 5e3, .pipelined = false, .in_flight = {20e3}};
  const core::ClassSpec copy = class_of(task, {20e3, 0});
  task.random_rows = true;
  const core::ClassSpec gather = class_of(task, {20e3, 0});
  const auto time = [](const core::ClassSpec& spec) { return (spec.latency + spec.delay) / spec.window; };
  const machine::GpuSpec& gpu = system.node.gpu;
  EXPECT_NEAR(time(gather) - time(copy), gpu.compute.store_cost * 5e3 / gpu.compute.load_store_per_cu.value, 1e-15);
}

TEST_F(Example, ACrowdedPortTakesWeightAndACrowdedGroupRate) {
  const PhaseShape read{.name = "read", .read = 2, .in_flight = {20e3}};
  CuLoad load{20e3, 0};
  load.port_share = 0.25;
  EXPECT_DOUBLE_EQ(class_of(read, load).weight, 0.25 * 10e3);
  EXPECT_DOUBLE_EQ(class_of(read, load).window, 10e3);
  system.node.gpu.compute.load_per_group = BytesPerSecond{300e9};
  machine = machine::build_or_throw(system, loop);
  load.group_in_flight = 120e3;
  EXPECT_DOUBLE_EQ(class_of(read, load).bound, 300e9 / 6 / 2);
  const PhaseShape store{.name = "store", .write = 2, .in_flight = {20e3}};
  const double alone = class_of(store, {20e3, 0}).bound;
  EXPECT_DOUBLE_EQ(class_of(store, load).bound, alone) << "the way of loads is full, not that of stores";
}

TEST_F(Example, AMemoryThatTurnsBetweenReadsAndWritesTakesLonger) {
  system.node.gpu.hbm.turnaround = 0.2;
  machine = machine::build_or_throw(system, loop);
  EXPECT_DOUBLE_EQ(demands(*machine, class_of(copy(8e3), {8e3, 0}))["rank 0 HBM"], 2 * 1.2);
  PhaseShape mixed{.name = "mixed", .read = 9, .write = 1, .in_flight = {8e3}};
  EXPECT_DOUBLE_EQ(demands(*machine, class_of(mixed, {8e3, 0}))["rank 0 HBM"], 10 * (1 + 0.2 * 4 * 0.1 * 0.9));
  system.node.gpu.hbm.turnaround_exponent = 0.5;
  machine = machine::build_or_throw(system, loop);
  EXPECT_DOUBLE_EQ(demands(*machine, class_of(mixed, {8e3, 0}))["rank 0 HBM"], 10 * (1 + 0.2 * std::sqrt(0.36)));
  mixed.mixed_stores = 0.5;
  EXPECT_DOUBLE_EQ(demands(*machine, class_of(mixed, {8e3, 0}))["rank 0 HBM"], 10 * 1.2);
  const PhaseShape read{.name = "read", .read = 1, .in_flight = {8e3}};
  EXPECT_DOUBLE_EQ(demands(*machine, class_of(read, {8e3, 0}))["rank 0 HBM"], 1);
  const PhaseShape store{.name = "store", .peer_write = 1, .mixed_stores = 0.5, .in_flight = {8e3}};
  EXPECT_DOUBLE_EQ(demands(*machine, class_of(store, {8e3, 0}, 1))["rank 1 HBM"], 1.2);
}

TEST_F(Example, OrderedStoresTurnTheMemoryLess) {
  system.node.gpu.hbm.turnaround = 0.2;
  system.node.gpu.hbm.turnaround_in_order = 0.25;
  system.node.gpu.hbm.turnaround_in_strides = 0.4;
  system.node.gpu.hbm.turnaround_gathers = 0.5;
  machine = machine::build_or_throw(system, loop);
  PhaseShape shape = copy(8e3);
  shape.random_rows = true;
  EXPECT_DOUBLE_EQ(demands(*machine, class_of(shape, {8e3, 0}))["rank 0 HBM"], 2 * (1 + 0.5 * 0.2)) << "a gather";
  shape.random_rows = false;
  EXPECT_DOUBLE_EQ(demands(*machine, class_of(shape, {8e3, 0}))["rank 0 HBM"], 2 * 1.2);
  shape.walk = program::Walk::in_order;
  EXPECT_DOUBLE_EQ(demands(*machine, class_of(shape, {8e3, 0}))["rank 0 HBM"], 2 * (1 + 0.25 * 0.2));
  shape.walk = program::Walk::in_strides;
  EXPECT_DOUBLE_EQ(demands(*machine, class_of(shape, {8e3, 0}))["rank 0 HBM"], 2 * (1 + 0.4 * 0.2));
}

TEST_F(Example, WhatStaysInTheCacheCostsTheMemoryNothing) {
  system.node.gpu.hbm.turnaround = 0.2;
  machine = machine::build_or_throw(system, loop);
  PhaseShape shape = copy(8e3);
  shape.write_miss = 0;
  EXPECT_DOUBLE_EQ(demands(*machine, class_of(shape, {8e3, 0}))["rank 0 HBM"], 1) << "reads alone: no turns either";
  PhaseShape store{.name = "store", .peer_write = 1, .in_flight = {8e3}};
  store.write_miss = 0.5;
  store.mixed_stores = 0.5;
  EXPECT_DOUBLE_EQ(demands(*machine, class_of(store, {8e3, 0}, 1))["rank 1 HBM"], 0.6);
  store.write_miss = 0;
  EXPECT_EQ(demands(*machine, class_of(store, {8e3, 0}, 1)).count("rank 1 HBM"), 0);
}

TEST_F(Example, ALoadFromAPeerTakesItsMemoryAndBothPorts) {
  const PhaseShape load{.name = "load", .peer_read = 1, .in_flight = {10e3}};
  const core::ClassSpec spec = class_of(load, {10e3, 0}, 1);
  EXPECT_THAT(demands(*machine, spec),
              ElementsAre(Pair("rank 0 port in", 1), Pair("rank 1 HBM", 1), Pair("rank 1 port out", 1)));
  EXPECT_DOUBLE_EQ(spec.latency, 2 * 500e-9) << "there and back";
}

TEST_F(Example, WritesCostTheMemoryWhatTheSpecSays) {
  system.node.gpu.hbm.write_cost = 1.5;
  machine = machine::build_or_throw(system, loop);
  EXPECT_THAT(demands(*machine, class_of(copy(8e3), {8e3, 0})),
              ElementsAre(Pair("rank 0 HBM", 2.5), Pair("rank 0 L2", 2)));
  const PhaseShape store{.name = "store", .peer_write = 1, .in_flight = {8e3}};
  const core::ClassSpec spec = class_of(store, {8e3, 0}, 1);
  EXPECT_THAT(demands(*machine, spec),
              ElementsAre(Pair("rank 0 port out", 1), Pair("rank 1 HBM", 1.5), Pair("rank 1 port in", 1)));
  EXPECT_DOUBLE_EQ(spec.latency, 500e-9) << "stores alone wait for the link, not for the own memory";
}

TEST_F(Example, AShapeThatMovesDataWithNothingInFlightIsOurBug) {
  EXPECT_ANY_THROW(class_of({.name = "read", .read = 1, .in_flight = {}}, {0, 0}));
}

}  // namespace
}  // namespace moire::cu
