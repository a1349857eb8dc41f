#include "models/hardware/cu/phase_runner.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "tests/support/example_system.hpp"

namespace moire::cu {
namespace {

using ::testing::Eq;

// A CU has at most 40 kB in flight, and the latency is 400 ns. A workgroup that has 25 kB in flight gets 62.5 B/ns
// alone, and 50 B/ns beside another such workgroup. The workgroups store, because first loads wait for an idle memory
// (memory_pipe_test.cpp).
class PhaseRunnerTest : public ::testing::Test, public core::EventSink {
 protected:
  core::RunLoop loop;
  std::unique_ptr<machine::Machine> machine = machine::build_or_throw(machine::example_system(2), loop);
  part::Phases& runner = machine->service<part::Phases>();
  ShapeId store = runner.add_shape({.name = "store", .write = 1, .in_flight = {25e3}}, 0);
  std::map<Seat, double> ends;  // ns
  std::function<void(Seat)> then = [this](Seat seat) { runner.leave(seat); };
  std::vector<std::function<void()>> later;

  void begin(Seat seat, CuId cu, double bytes, part::Rank rank = 0) {
    runner.start(seat, rank, cu, store, rank, bytes, *this, seat);
  }
  void at(double ns, std::function<void()> act) {
    later.push_back(std::move(act));
    loop.calendar().schedule(Time::from_ns(ns), *this, 1000 + later.size() - 1);
  }
  void fire(std::uint64_t payload) override {
    if (payload >= 1000) return later[payload - 1000]();
    ends[static_cast<Seat>(payload)] = loop.now().ns();
    then(static_cast<Seat>(payload));
  }
};

TEST_F(PhaseRunnerTest, AWorkgroupAloneTakesItsOwnTime) {
  begin(0, 0, 100e3);
  loop.run();
  EXPECT_EQ(loop.now(), Time::from_ns(1600));
}

TEST_F(PhaseRunnerTest, ANeighbourOnTheCuSlowsItDownFromThenOn) {
  begin(0, 0, 100e3);
  at(800, [&] { begin(1, 0, 50e3); });
  loop.run();
  EXPECT_THAT(ends, Eq(std::map<Seat, double>{{0, 1800}, {1, 1800}}));
}

TEST_F(PhaseRunnerTest, OnAnotherCuItDoesNot) {
  begin(0, 0, 100e3);
  at(800, [&] { begin(1, 1, 50e3); });
  at(800, [&] { begin(2, 0, 50e3, 1); });  // CU 0 of the other rank
  loop.run();
  EXPECT_THAT(ends, Eq(std::map<Seat, double>{{0, 1600}, {1, 1600}, {2, 1600}}));
}

TEST_F(PhaseRunnerTest, LeavingGivesTheShareBack) {
  begin(0, 0, 100e3);
  at(800, [&] { begin(1, 0, 25e3); });
  loop.run();
  EXPECT_THAT(ends, Eq(std::map<Seat, double>{{0, 1700}, {1, 1300}}));
}

// Twenty workgroups, which begin one after the other, share the 100 B/ns of their CU evenly. They join and leave the
// bundle of the CU. Every end is compared with that of equal sharing, computed step by step.
TEST_F(PhaseRunnerTest, ManyNeighboursShareTheirCuEvenly) {
  constexpr Seat seats = 20;
  const auto bytes = [](Seat seat) { return 1000.0 * (1 + seat * 7 % 11); };
  const auto begins = [](Seat seat) { return 37.0 * seat; };
  for (Seat seat = 0; seat < seats; ++seat) at(begins(seat), [=, this] { begin(seat, 0, bytes(seat)); });
  loop.run();
  std::map<Seat, double> rest;
  double now = 0;
  for (Seat next = 0; next < seats || !rest.empty();) {
    const double rate = rest.size() == 1 ? 62.5 : 100.0 / static_cast<double>(rest.size());
    const auto first =
        std::min_element(rest.begin(), rest.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    const double end = rest.empty() ? INFINITY : now + first->second / rate;
    const double begin = next < seats ? begins(next) : INFINITY;
    for (auto& [seat, left] : rest) left -= rate * (std::min(begin, end) - now);
    now = std::min(begin, end);
    if (end <= begin) {
      EXPECT_NEAR(ends.at(first->first), now, 0.1) << "seat " << first->first;
      rest.erase(first);
    } else {
      rest[next] = bytes(next);
      ++next;
    }
  }
}

TEST_F(PhaseRunnerTest, BetweenTwoPhasesTheShareIsKept) {
  then = [](Seat) {};
  begin(0, 0, 100e3);
  at(800, [&] { begin(1, 0, 25e3); });
  loop.run();
  EXPECT_THAT(ends, Eq(std::map<Seat, double>{{0, 1800}, {1, 1300}}));
}

TEST_F(PhaseRunnerTest, LeavingTwiceOrWithoutASeatIsNothing) {
  runner.leave(17);
  begin(0, 0, 100e3);
  at(800, [&] { begin(1, 0, 25e3); });
  then = [&](Seat seat) {
    runner.leave(seat);
    runner.leave(seat);
  };
  loop.run();
  EXPECT_THAT(ends, Eq(std::map<Seat, double>{{0, 1700}, {1, 1300}}));
}

TEST_F(PhaseRunnerTest, WorkgroupsThatFollowOneAnotherInTheSameInstantNeedNoSolve) {
  int rest = 100;
  then = [&](Seat seat) {
    runner.leave(seat);
    if (--rest > 0) begin(seat + 2, 0, 1000);  // a new workgroup on the same CU
  };
  begin(0, 0, 1000);
  begin(1, 0, 1000);
  loop.settle();
  const std::uint64_t solves = machine->sharing().solves();
  for (int i = 0; i < 40; ++i) loop.run_instant();
  EXPECT_EQ(machine->sharing().solves(), solves);
  EXPECT_EQ(loop.now(), Time::from_ns(40 * 20));
}

// Two workgroups on two CUs that load in step: 25 kB take 400 ns + 100 ns + 2 x 50 ns, and 50 ns less for one alone.
TEST_F(PhaseRunnerTest, WorkgroupsThatLoadInStepWaitForEachOther) {
  const ShapeId in_step = runner.add_shape({.name = "stages",
                                            .read = 1,
                                            .held = Time::from_ns(20),
                                            .held_in_step = Time::from_ns(100),
                                            .held_each = 50e-9,
                                            .held_most = Time::from_ns(200),
                                            .in_flight = {25e3}},
                                           0);
  runner.start(0, 0, 0, in_step, 0, 50e3, *this, 0);
  runner.start(1, 0, 1, in_step, 0, 25e3, *this, 1);
  begin(2, 2, 25e3);
  runner.start(3, 1, 0, in_step, 1, 25e3, *this, 3);  // on another GPU
  loop.run();
  EXPECT_THAT(ends, Eq(std::map<Seat, double>{{0, 600 + 550}, {1, 600}, {2, 400}, {3, 550}}));
}

// Workgroups add their bytes in flight to the load of a CU, and subtract them later. The sum must return to the same
// value to the last bit, or every change would create a new class.
TEST_F(PhaseRunnerTest, FractionsOfBytesInFlightMakeNoMoreClassesThanWholeOnes) {
  const auto churn = [&](const std::vector<double>& in_flight) {
    const std::size_t before = machine->sharing().classes();
    ShapeId first = 0;
    for (const double bytes : in_flight) first = runner.add_shape({.name = "read", .read = 1, .in_flight = {bytes}}, 0);
    first -= 2;
    int rest = 3000;
    then = [&](Seat seat) {
      runner.leave(seat);
      if (--rest > 0) runner.start(seat, 0, 0, first + rest * rest % 7 % 3, 0, 1000 + 37 * rest, *this, seat);
    };
    for (Seat seat = 0; seat < 3; ++seat) runner.start(seat, 0, 0, first + seat, 0, 1000 + 500 * seat, *this, seat);
    loop.run();
    return machine->sharing().classes() - before;
  };
  EXPECT_EQ(churn({1000.1, 200.2, 30.3}), churn({1001, 201, 31}));
}

TEST_F(PhaseRunnerTest, ASeatMayChangeItsShape) {
  const ShapeId sum = runner.add_shape({.name = "sum", .flop = 1000, .in_flight = {}}, 0);
  then = [&](Seat seat) {
    if (seat == 0 &&
        ends.size() == 1) {  // workgroup 0 continues with arithmetic, so workgroup 1 has the memory path alone
      ends[10] = loop.now().ns();
      runner.start(0, 0, 0, sum, 0, 1000, *this, 0);
    }
  };
  begin(0, 0, 50e3);
  begin(1, 0, 112.5e3);
  loop.run();
  // Workgroup 0: 50 kB at 50 B/ns, then 1 MFLOP at 1 TFLOP/s. Workgroup 1 continues with 62.5 kB at 62.5 B/ns.
  EXPECT_THAT(ends, Eq(std::map<Seat, double>{{0, 2000}, {1, 2000}, {10, 1000}}));
}

TEST_F(PhaseRunnerTest, LocalWorkIsOneClassWhateverPeerItNames) {
  const std::size_t before = machine->sharing().classes();
  runner.start(0, 0, 0, store, 0, 1000, *this, 0);
  runner.start(1, 0, 1, store, 1, 1000, *this, 1);
  loop.run();
  EXPECT_EQ(machine->sharing().classes(), before + 1);
}

TEST_F(PhaseRunnerTest, StoresToOneReceiverShareItsPort) {
  core::RunLoop other;
  const auto four = machine::build_or_throw(machine::example_system(4), other);
  part::Phases& stores = four->service<part::Phases>();
  const ShapeId to_peer = stores.add_shape({.name = "store", .peer_write = 1, .in_flight = {25e3}}, 0);
  // 3 x 8 CUs could store 50 GB/s each, but share one port of 300 GB/s: 12.5 B/ns each.
  ends.clear();
  then = [&](Seat seat) {
    ends[seat] = other.now().ns();
    stores.leave(seat);
  };
  for (Seat seat = 0; seat < 24; ++seat) stores.start(seat, 1 + seat / 8, seat % 8, to_peer, 0, 12500, *this, seat);
  other.run();
  EXPECT_EQ(other.now(), Time::from_ns(1000));
}

// --- Paths to the memory system that CUs share

// A GPU with one group of 3 CUs. If ports are limited, CUs 0 and 1 use one port and CU 2 uses another port. Each CU has
// 40 kB in flight.
class SharedWay : public ::testing::Test, public core::EventSink {
 protected:
  machine::SystemSpec system = machine::example_system(1);
  core::RunLoop loop;
  std::unique_ptr<machine::Machine> machine;
  part::Phases* runner = nullptr;
  ShapeId read = 0;
  std::map<Seat, double> ends;  // ns

  void build() {
    system.node.gpu.compute.groups = {{.cus = 3}};
    if (system.node.gpu.compute.port_queue) system.node.gpu.compute.ports = {2, 1};
    machine = machine::build_or_throw(system, loop);
    runner = &machine->service<part::Phases>();
    read = runner->add_shape({.name = "read", .read = 1, .in_flight = {40e3}}, 0);
  }
  void run_on(std::initializer_list<CuId> cus) {
    for (const CuId cu : cus) runner->start(cu, 0, cu, read, 0, 12e3, *this, cu);
    loop.run();
  }
  void fire(std::uint64_t seat) override {
    ends[static_cast<Seat>(seat)] = loop.now().ns();
    runner->leave(static_cast<Seat>(seat));
  }
};

// A port passes 40 kB in flight to the saturated memory of 100 B/ns. So CUs 0 and 1 have a weight of 20 kB each, and
// CU 2 has 40 kB.
TEST_F(SharedWay, PortsShareASaturatedMemoryAlike) {
  system.node.gpu.hbm.bandwidth = {100e9};
  system.node.gpu.compute.port_queue = Bytes{40e3};
  build();
  run_on({0, 1, 2});
  EXPECT_THAT(ends, Eq(std::map<Seat, double>{{2, 240}, {0, 360}, {1, 360}}));
}

TEST_F(SharedWay, APortWithRoomLeavesSharesAsTheyAre) {
  system.node.gpu.hbm.bandwidth = {100e9};
  system.node.gpu.compute.port_queue = Bytes{80e3};
  build();
  run_on({0, 1, 2});
  EXPECT_THAT(ends, Eq(std::map<Seat, double>{{0, 360}, {1, 360}, {2, 360}}));
}

// One CU alone gets 100 B/ns, so 12 kB take 120 ns. Two CUs share the group's 120 B/ns, so 12 kB each take 200 ns.
TEST_F(SharedWay, AGroupsRateIsShared) {
  system.node.gpu.compute.port_queue = Bytes{1e9};
  system.node.gpu.compute.load_per_group = BytesPerSecond{120e9};
  build();
  run_on({0, 2});
  EXPECT_THAT(ends, Eq(std::map<Seat, double>{{0, 200}, {2, 200}}));
  ends.clear();
  const double before = loop.now().ns();
  run_on({1});
  EXPECT_EQ(ends[1] - before, 120);
}

// In an earlier model, a group's bytes in flight were rounded up to multiples of bytes_in_flight_per_cu. So the rate of
// a lone workgroup fell when bytes_in_flight_per_cu grew.
TEST_F(SharedWay, MoreRoomInFlightLeavesALoneWorkgroupItsRate) {
  system.node.gpu.compute.port_queue = Bytes{1e9};
  system.node.gpu.compute.load_per_group = BytesPerSecond{1e12};
  system.node.gpu.compute.bytes_in_flight_per_cu = Bytes{1e9};
  build();
  run_on({1});
  EXPECT_EQ(ends[1], 120);
}

// A CU does 5 TFLOP/s; a younger workgroup computes at half the rate of the next older one.
class AgeTest : public ::testing::Test, public core::EventSink {
 protected:
  machine::SystemSpec system = [] {
    machine::SystemSpec made = machine::example_system(1);
    made.node.gpu.compute.younger_matrix_share = 0.5;
    return made;
  }();
  core::RunLoop loop;
  std::unique_ptr<machine::Machine> machine = machine::build_or_throw(system, loop);
  part::Phases& runner = machine->service<part::Phases>();
  ShapeId matrix =
      runner.add_shape({.name = "tile", .flop = 1, .unit = program::Arithmetic::matrix_16bit, .in_flight = {}}, 0);
  ShapeId vector =
      runner.add_shape({.name = "sum", .flop = 1, .unit = program::Arithmetic::vector_fp32, .in_flight = {}}, 0);
  std::map<Seat, double> ends;  // ns
  std::function<void(Seat)> then = [this](Seat seat) { runner.leave(seat); };
  void begin(Seat seat, ShapeId shape, double flop) { runner.start(seat, 0, 0, shape, 0, flop, *this, seat); }
  void fire(std::uint64_t seat) override {
    ends[static_cast<Seat>(seat)] = loop.now().ns();
    then(static_cast<Seat>(seat));
  }
};

TEST_F(AgeTest, TheOldestComputesFastest) {
  begin(0, matrix, 5e6);
  begin(1, matrix, 5e6);
  loop.run();
  // The older workgroup gets 2/3 and the younger one 1/3 of the CU for 1.5 us. Then the younger workgroup has the whole
  // CU for the second half of its work.
  EXPECT_NEAR(ends.at(0), 1500, 1e-3);
  EXPECT_NEAR(ends.at(1), 2000, 1e-3);
}

TEST_F(AgeTest, WhoTakesAPlaceIsTheYoungest) {
  then = [this](Seat seat) {
    runner.leave(seat);
    if (seat == 0) begin(2, matrix, 5e6);  // the load of the CU stays the same, but workgroup 1 is now the oldest
  };
  begin(0, matrix, 5e6);
  begin(1, matrix, 5e6);
  loop.run();
  EXPECT_NEAR(ends.at(1), 1500 + 500 * 1.5, 1e-3) << "the other half of its tile at 2/3";
  EXPECT_NEAR(ends.at(2), 3000, 1e-3) << "the CU is never idle";
}

TEST_F(AgeTest, VectorArithmeticIsSharedEvenly) {
  begin(0, vector, 5e6);
  begin(1, vector, 5e6);
  loop.run();
  EXPECT_DOUBLE_EQ(ends.at(0), ends.at(1));
}

}  // namespace
}  // namespace moire::cu
