#include "models/machine/phase_class.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <map>

#include "models/machine/example_system.hpp"
#include "sim/config/config.hpp"

namespace moire::models::machine {
namespace {

using program::PhaseShape;
using ::testing::ElementsAre;
using ::testing::Pair;

SystemSpec load_system(const std::string& file) {
  config::Diagnostics diagnostics;
  const auto root = config::load(std::filesystem::path(MOIRE_SOURCE_DIR) / "configs/systems" / file, {}, diagnostics);
  const auto spec = root ? config::parse<SystemSpec>(*root, diagnostics) : std::nullopt;
  EXPECT_TRUE(spec && diagnostics.ok()) << diagnostics.str();
  return spec.value_or(SystemSpec{});
}

PhaseShape copy(double in_flight) { return {.name = "copy", .read = 1, .write = 1, .in_flight = {in_flight}}; }
CuLoad alone(const PhaseShape& shape) { return {shape.in_flight.value, shape.flop > 0 ? 1U : 0U}; }

std::map<std::string, double> demands(Machine& machine, const core::ClassSpec& spec) {
  std::map<std::string, double> sums;
  for (const core::Demand& d : spec.demands) sums[machine.sharing().capacity(d.capacity).name] += d.per_work;
  return sums;
}

struct Never final : core::EventSink {
  void fire(std::uint64_t) override {}
};

// Rate of one lone member of a class, as the sharing law finds it.
double rate_alone(Machine& machine, const core::ClassSpec& spec) {
  Never never;
  const core::ClassId id = machine.sharing().add_class(spec);
  machine.sharing().start(id, 1e9, never, 0);
  machine.loop().settle();
  return machine.sharing().rate_of(id);
}

// --- The H200
// -----------------------------------------------------------------------------------------------------------

class H200 : public ::testing::Test {
 protected:
  core::RunLoop loop;
  std::unique_ptr<Machine> machine = build_or_throw(load_system("4xh200.yaml"), loop);
  core::ClassSpec class_of(const PhaseShape& shape, Rank peer = 0) {
    return phase_class(*machine, shape, 0, peer, alone(shape));
  }
};

// Measured: 512 threads x 16 B in flight copy 20.7 GB/s on an idle GPU.
TEST_F(H200, ACopyOf8KibInFlightIsBoundByLatency) {
  const core::ClassSpec spec = class_of(copy(8192));
  EXPECT_DOUBLE_EQ(spec.window / spec.latency, 8192 / 396e-9);
  EXPECT_GT(spec.bound, spec.window / spec.latency);
  EXPECT_NEAR(rate_alone(*machine, spec), 20.7e9, 0.05e9);
}

// Measured: 48.5 and 48.6 GB/s with 32 and 64 KiB in flight.
TEST_F(H200, ACopyOf64KibInFlightIsBoundByItsSm) {
  const core::ClassSpec spec = class_of(copy(65536));
  EXPECT_DOUBLE_EQ(spec.bound, 150e9 / (1 + 2.08));
  EXPECT_DOUBLE_EQ(spec.window, 46.5e3) << "the SM's miss queue is smaller than what the workgroup asks for";
  EXPECT_NEAR(rate_alone(*machine, spec), 48.6e9, 0.2e9);
}

// Measured: gathers of 512 B rows in batches of 8, 16, 32 and 64 KiB: 17.5, 30.7, 51.9 and 80.8 GB/s for one workgroup.
TEST_F(H200, ABatchThatIsWaitedForTakesLatencyAndTransfer) {
  for (const auto& [batch, measured, percent] : {std::tuple{8192, 17.5, 5.}, {16384, 30.7, 6.}, {32768, 51.9, 4.}}) {
    const PhaseShape gather{.name = "gather", .read = 1, .pipelined = false, .in_flight = {static_cast<double>(batch)}};
    const core::ClassSpec spec = class_of(gather);
    EXPECT_DOUBLE_EQ(spec.latency, 396e-9 + batch / 150e9);
    EXPECT_NEAR(rate_alone(*machine, spec) * 1e-9, measured, measured * percent / 100) << batch;
  }
}

// Measured: 50.0 GB/s, one workgroup that stores to a peer.
TEST_F(H200, StoresToAPeerAreBoundByTheStoreWindow) {
  const PhaseShape store{.name = "store", .peer_write = 1, .in_flight = {65536}};
  EXPECT_DOUBLE_EQ(class_of(store, 1).bound, 35e3 / 700e-9);
  const PhaseShape send{.name = "send", .read = 1, .peer_write = 1, .in_flight = {65536}};
  EXPECT_DOUBLE_EQ(class_of(send, 1).bound, 150e9 / (1 + 3.0)) << "it has to load what it stores";
}

TEST_F(H200, ArithmeticIsTheRateOfOneSm) {
  const PhaseShape matrix{.name = "tile", .flop = 2, .unit = program::Arithmetic::matrix_16bit, .in_flight = {}};
  EXPECT_DOUBLE_EQ(class_of(matrix).bound, 989.4e12 * 0.83 / 132 / 2);
  const PhaseShape vector{.name = "sum", .flop = 2, .in_flight = {}};
  EXPECT_DOUBLE_EQ(class_of(vector).bound, 66.9e12 / 132 / 2);
}

// --- Shares of a CU
// -----------------------------------------------------------------------------------------------------

class Example : public ::testing::Test {
 protected:
  core::RunLoop loop;
  SystemSpec system = example_system(2);
  std::unique_ptr<Machine> machine = build_or_throw(system, loop);
  core::ClassSpec class_of(const PhaseShape& shape, const CuLoad& load, Rank peer = 0) {
    return phase_class(*machine, shape, 0, peer, load);
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
  machine = build_or_throw(system, loop);
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

TEST_F(Example, WritesCostTheMemoryWhatTheSpecSays) {
  system.node.gpu.hbm.write_cost = 1.5;
  machine = build_or_throw(system, loop);
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
}  // namespace moire::models::machine
