// The clocks of GPUs beside matrix arithmetic (phase_clocks.cpp).
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "models/hardware/cu/phase_runner.hpp"
#include "tests/support/example_system.hpp"

namespace moire::cu {
namespace {

machine::SystemSpec clocked(double matrix_clock) {
  machine::SystemSpec made = machine::example_system(2);
  made.node.gpu.compute.matrix_clock = {matrix_clock};
  return made;
}

// The clock is 1 GHz, or 0.5 GHz with all 8 CUs at matrix arithmetic of full power; a CU does 5 TFLOP/s.
class ClockTest : public ::testing::Test, public core::EventSink {
 protected:
  explicit ClockTest(double matrix_clock = 0.5e9) : system(clocked(matrix_clock)) {}
  machine::SystemSpec system;
  core::RunLoop loop;
  std::unique_ptr<machine::Machine> machine = machine::build_or_throw(system, loop);
  part::Phases& runner = machine->service<part::Phases>();
  ShapeId tile = runner.add_shape(
      {.name = "tile", .flop = 1, .power = 1, .unit = program::Arithmetic::matrix_16bit, .in_flight = {}}, 0);
  std::map<Seat, double> ends;  // ns
  void fire(std::uint64_t seat) override {
    ends[static_cast<Seat>(seat)] = loop.now().ns();
    machine->service<part::Phases>().leave(static_cast<Seat>(seat));
  }
};

TEST_F(ClockTest, FallsWithTheCubeRootOfThePower) {
  const cu::CuArraySpec& compute = system.node.gpu.compute;
  EXPECT_DOUBLE_EQ(clock_share(compute, 0), 1);
  EXPECT_DOUBLE_EQ(clock_share(compute, 8), 0.5);
  EXPECT_NEAR(clock_share(compute, 4), 0.5 * std::cbrt(2), 1e-12);
  EXPECT_DOUBLE_EQ(clock_share(compute, 1), 1) << "the limit leaves the highest clock";
  EXPECT_DOUBLE_EQ(clock_share(machine::example_system(2).node.gpu.compute, 8), 1) << "no limit is known";
}

TEST_F(ClockTest, AllComputingCusSlowEachOtherDown) {
  for (Seat seat = 0; seat < 8; ++seat) runner.start(seat, 0, seat, tile, 0, 5e6, *this, seat);
  runner.start(8, 1, 0, tile, 1, 5e6, *this, 8);  // alone on the other GPU
  loop.run();
  EXPECT_NEAR(ends.at(0), 2000, 1e-3) << "at half the clock";
  EXPECT_NEAR(ends.at(7), 2000, 1e-3);
  EXPECT_NEAR(ends.at(8), 1000, 1e-3);
}

TEST_F(ClockTest, TwoWorkgroupsOfACuDrawThePowerOfOne) {
  for (Seat seat = 0; seat < 8; ++seat) runner.start(seat, 0, seat % 4, tile, 0, 5e6, *this, seat);
  loop.run();
  EXPECT_NEAR(ends.at(0), 2000 / 0.63, 1e-3) << "half of the CUs: 0.5 x cbrt(2), in steps of 0.01";
}

// The clock changes in steps of 1 %. In an earlier model, a clock below half a step was rounded to zero.
class SlowClockTest : public ClockTest {
 protected:
  SlowClockTest() : ClockTest(1e6) {}
};

TEST_F(SlowClockTest, AClockBelowAStepIsNotNone) {
  part::Phases& phases = machine->service<part::Phases>();
  const ShapeId work = phases.add_shape(
      {.name = "tile", .flop = 1, .power = 1, .unit = program::Arithmetic::matrix_16bit, .in_flight = {}}, 0);
  phases.start(0, 0, 0, work, 0, 5e6, *this, 0);
  loop.run();
  EXPECT_NEAR(ends.at(0), 500'000, 1) << "a lone CU of 8 draws an eighth: 0.001 x cbrt(8)";
}

// Memory traffic at the full 1 TB/s draws as much as matrix arithmetic on all 8 CUs. Four CUs compute, and the others
// store 400 GB/s, which draws as much as 3.2 CUs.
class MemoryClockTest : public ClockTest {
 protected:
  static machine::SystemSpec powered(double traffic_weight, std::optional<double> dip) {
    machine::SystemSpec made = clocked(0.5e9);
    made.node.gpu.compute.traffic_weight = traffic_weight;
    if (dip) {
      made.node.gpu.compute.clock_dip = *dip;
      made.node.gpu.compute.clock_dip_delay = Time::from_us(1);
      made.node.gpu.compute.clock_dip_time = Time::from_us(2);
    }
    made.node.gpu.power.emplace();
    made.node.gpu.power->matrix_flop = {1e-12};  // 20 W on all CUs, which do 20 TFLOP/s at 0.5 GHz
    made.node.gpu.power->hbm_read_byte = {20e-12 / traffic_weight};
    return made;
  }
  void build(const part::Apart& apart = {}, double traffic_weight = 1, std::optional<double> dip = {}) {
    config::Problem error;
    own_loop = std::make_unique<core::RunLoop>();
    powerful = machine::Machine::build(powered(traffic_weight, dip), *own_loop, error, apart);
    ASSERT_TRUE(powerful) << error.str();
    part::Phases& phases = powerful->service<part::Phases>();
    tile = phases.add_shape(
        {.name = "tile", .flop = 1, .power = 1, .unit = program::Arithmetic::matrix_16bit, .in_flight = {}}, 0);
    store = phases.add_shape({.name = "store", .write = 1, .in_flight = {40e3}}, 1);
  }
  // Returns when the computing workgroups end, in ns. The others store `bytes`.
  double computed(double bytes) {
    part::Phases& phases = powerful->service<part::Phases>();
    for (Seat seat = 0; seat < 8; ++seat)
      phases.start(seat, 0, seat, seat < 4 ? tile : store, 0, seat < 4 ? 5e6 : bytes, *this, seat);
    own_loop->run();
    return ends.at(0);
  }
  void fire(std::uint64_t seat) override {
    ends[static_cast<Seat>(seat)] = own_loop->now().ns();
    powerful->service<part::Phases>().leave(static_cast<Seat>(seat));
  }
  std::unique_ptr<core::RunLoop> own_loop;
  std::unique_ptr<machine::Machine> powerful;
  ShapeId store = 0;
};

TEST_F(MemoryClockTest, TrafficOfTheMemoryLowersTheClockOfArithmetic) {
  build();
  EXPECT_NEAR(computed(1e6), 1000 / 0.52, 1e-3) << "0.5 x cbrt(8 / 7.2) = 0.518, in steps of 0.01";
}

TEST_F(MemoryClockTest, AWattOfTrafficHasAWeight) {
  build({}, 4);
  EXPECT_NEAR(computed(1e6), 1000 / 0.52, 1e-3) << "a quarter of the energy, four times the weight";
}

TEST_F(MemoryClockTest, OnlyAsLongAsItLasts) {
  build();
  // The stores end after 1,000 ns. From then on the clock is 0.5 x cbrt(2) = 0.63.
  EXPECT_NEAR(computed(100e3), 1000 + 480 / 0.63, 1e-3);
}

TEST_F(MemoryClockTest, NotBeforeTheClockDips) {
  build({}, 1, 0.2);
  EXPECT_NEAR(computed(1e6), 1000 + (1000 - 630) / 0.47, 1e-3) << "0.518 x 0.9, because half of the CUs compute";
  build({}, 1, 0);
  EXPECT_NEAR(computed(1e6), 1000 + (1000 - 630) / 0.52, 1e-3) << "also if the clock does not dip";
}

TEST_F(MemoryClockTest, IsThatOfTheOwnQueueIfQueuesAreApart) {
  build({.queues = 2, .kinds = {"cus", "clock"}});
  EXPECT_NEAR(computed(1e6), 1000 / 0.63, 1e-3);
}

// Half of the CUs of both GPUs compute, and a copy over the links, of 100 GB/s, draws as much as 3.2 CUs at either end.
class LinkClockTest : public ClockTest {
 protected:
  // Returns when the computing workgroups of a rank end, in ns.
  double computed(double bytes, part::Rank rank, link::Wiring wiring = link::Wiring::nvswitch) {
    system = machine::example_system(3, 1, wiring);
    system.node.gpu.compute.matrix_clock = {0.5e9};
    system.node.gpu.dma.first_command = Time{};
    system.node.gpu.power.emplace();
    system.node.gpu.power->matrix_flop = {1e-12};  // 2.5 W on a CU
    system.node.gpu.power->link_byte = {50e-12};
    system.node.gpu.power->l2_byte = {30e-12};
    core::RunLoop own_loop;
    const auto copying = machine::build_or_throw(system, own_loop);
    class Ends final : public core::EventSink {
     public:
      explicit Ends(core::RunLoop& of) : loop(of) {}
      void fire(std::uint64_t seat) override { ends[seat] = loop.now().ns(); }
      core::RunLoop& loop;
      std::map<std::uint64_t, double> ends;
    } sink(own_loop);
    part::Phases& phases = copying->service<part::Phases>();
    const ShapeId work = phases.add_shape(
        {.name = "tile", .flop = 1, .power = 1, .unit = program::Arithmetic::matrix_16bit, .in_flight = {}}, 0);
    for (Seat seat = 0; seat < 12; ++seat) phases.start(seat, seat / 4, seat % 4, work, seat / 4, 5e6, sink, seat);
    part::CopyRequest copy;
    copy.copy = {.rank = 0, .peer = 1, .bytes = {bytes}};
    copy.sink = &sink;
    copy.payload = 99;
    copying->service<part::Copies>().submit(copy);
    own_loop.run();
    return sink.ends.at(4 * rank);
  }
};

TEST_F(LinkClockTest, CopiesLowerTheClockAtBothEndsWhileTheyLast) {
  for (const link::Wiring wiring : {link::Wiring::nvswitch, link::Wiring::full_mesh}) {
    for (const part::Rank end : {0, 1}) {
      EXPECT_NEAR(computed(1e6, end, wiring), 1000 / 0.52, 1e-3) << "0.5 x cbrt(8 / 7.2) = 0.518, in steps of 0.01";
      EXPECT_NEAR(computed(100e3, end, wiring), 1000 + 480 / 0.63, 1e-3) << "the copy ends after 1,000 ns";
    }
    EXPECT_NEAR(computed(1e6, 2, wiring), 1000 / 0.63, 1e-3) << "no copy begins or ends there";
  }
}

// Arithmetic of constant digits draws no power, but all CUs that do something else have three quarters of the clock.
TEST(BesideMatrix, OtherWorkHasALowerClock) {
  machine::SystemSpec system = clocked(1e9);
  system.node.gpu.compute.clock_beside_matrix = 0.75;
  class Run final : public core::EventSink {
   public:
    explicit Run(const machine::SystemSpec& of) : machine(machine::build_or_throw(of, loop)) {}
    void fire(std::uint64_t seat) override {
      ends[static_cast<Seat>(seat)] = loop.now().ns();
      machine->service<part::Phases>().leave(static_cast<Seat>(seat));
    }
    core::RunLoop loop;
    std::unique_ptr<machine::Machine> machine;
    std::map<Seat, double> ends;
  } run(system);
  part::Phases& phases = run.machine->service<part::Phases>();
  const ShapeId matrix =
      phases.add_shape({.name = "tile", .flop = 1, .unit = program::Arithmetic::matrix_16bit, .in_flight = {}}, 0);
  const ShapeId vector = phases.add_shape({.name = "add", .flop = 1, .in_flight = {}}, 0);
  phases.start(0, 0, 0, matrix, 0, 5e6, run, 0);  // 1 us
  phases.start(1, 0, 1, vector, 0, 1e6, run, 1);  // 1 us at the full clock
  run.loop.run();
  EXPECT_NEAR(run.ends.at(0), 1000, 1e-3);
  EXPECT_NEAR(run.ends.at(1), 1250, 1e-3) << "three quarters of the work in the first us, the rest at the full clock";
}

// 8 CUs at 1 GHz, which is half of their full clock, so that no power limit lowers it further. A tile takes 5 us.
class DipTest : public ::testing::Test, public core::EventSink {
 protected:
  // Returns when the tiles of `cus` CUs end that begin at 0, or at the end of other tiles and `pause` later.
  double ends(Seat cus, double pause_us = -1) {
    loop = std::make_unique<core::RunLoop>();
    machine = machine::build_or_throw(system, *loop);
    tile = machine->service<part::Phases>().add_shape(
        {.name = "tile", .flop = 1, .power = 1, .unit = program::Arithmetic::matrix_16bit, .in_flight = {}}, 0);
    pause = pause_us;
    all = running = cus;
    begin();
    loop->run();
    return loop->now().us();
  }
  void begin() {
    for (Seat seat = 0; seat < all; ++seat)
      machine->service<part::Phases>().start(seat, 0, seat, tile, 0, 25e6, *this, seat);
  }
  void fire(std::uint64_t seat) override {
    if (seat == again) return begin();
    machine->service<part::Phases>().leave(static_cast<Seat>(seat));
    if (--running > 0 || pause < 0) return;
    loop->calendar().schedule(loop->now() + Time::from_us(pause), *this, again);
    running = all;
    pause = -1;
  }
  static machine::SystemSpec dipping() {
    machine::SystemSpec made = clocked(2e9);
    made.operated_at = 0.5;
    made.node.gpu.compute.clock_dip = 0.2;
    made.node.gpu.compute.clock_dip_delay = Time::from_us(1);
    made.node.gpu.compute.clock_dip_time = Time::from_us(2);
    return made;
  }
  static constexpr std::uint64_t again = 100;
  machine::SystemSpec system = dipping();
  std::unique_ptr<core::RunLoop> loop;
  std::unique_ptr<machine::Machine> machine;
  ShapeId tile = 0;
  Seat all = 0, running = 0;
  double pause = -1;
};

TEST_F(DipTest, TheClockDipsWhenMatrixArithmeticHasBegun) {
  EXPECT_NEAR(ends(8), 5 + 0.2 * 2, 1e-6);
  EXPECT_NEAR(ends(4), 5 + 0.1 * 2, 1e-6) << "half of the power";
  system.operated_at.reset();
  EXPECT_NEAR(ends(8), 5 + 0.2 * 2, 1e-6) << "at the full clock, too";
}

TEST_F(DipTest, AsLongAsTheGpuWasWithoutMatrixArithmetic) {
  EXPECT_NEAR(ends(8, 0), 10 + 0.2 * 2, 1e-6) << "other matrix arithmetic before";
  EXPECT_NEAR(ends(8, 1), 10 + 0.2 * 2 + 1 + 0.2 * 1, 1e-6);
  EXPECT_NEAR(ends(8, 7), 10 + 0.2 * 2 + 7 + 0.2 * 2, 1e-6);
  system.repeated = true;
  EXPECT_NEAR(ends(8), 5, 1e-6) << "the run before ended with matrix arithmetic";
}

TEST_F(ClockTest, SlowsWhoLoadsToo) {
  const program::PhaseShape load{.name = "load", .read = 1, .in_flight = {40e3}};
  EXPECT_DOUBLE_EQ(
      phase_class(machine->gpu().compute, machine->site(), load, 0, 0, {.in_flight = 40e3, .clock = 0.25}).bound, 50e9);
}

}  // namespace
}  // namespace moire::cu
