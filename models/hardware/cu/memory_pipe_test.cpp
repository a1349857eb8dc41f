#include "models/hardware/cu/memory_pipe.hpp"

#include <gmock/gmock.h>

#include <functional>
#include <map>

#include "tests/support/example_system.hpp"

namespace moire::cu {
namespace {

using part::Seat;
using part::ShapeId;
using ::testing::Eq;

// A memory of 100 B/ns with a latency of 400 ns, and 8 CUs. A workgroup has 20 kB in flight and gets 50 B/ns alone, so
// three workgroups saturate the memory.
class MemoryPipeTest : public ::testing::Test, public core::EventSink {
 protected:
  static machine::SystemSpec slow_memory() {
    machine::SystemSpec made = machine::example_system(2);
    made.node.gpu.hbm.bandwidth = {100e9};
    return made;
  }
  core::RunLoop loop;
  std::unique_ptr<machine::Machine> machine = machine::build_or_throw(slow_memory(), loop);
  part::Phases& runner = machine->service<part::Phases>();
  ShapeId read = runner.add_shape({.name = "read", .read = 1, .in_flight = {20e3}}, 0);
  std::map<Seat, double> ends;  // ns
  std::function<void(Seat)> then = [this](Seat seat) { runner.leave(seat); };
  std::map<std::uint64_t, std::function<void()>> later;

  void begin(Seat seat, double bytes) { runner.start(seat, 0, seat % 8, read, 0, bytes, *this, seat); }
  void at(double ns, std::function<void()> act) {
    const std::uint64_t number = 1000 + later.size();
    later[number] = std::move(act);
    loop.calendar().schedule(Time::from_ns(ns), *this, number);
  }
  void fire(std::uint64_t payload) override {
    if (payload >= 1000) return later.at(payload)();
    ends[static_cast<Seat>(payload)] = loop.now().ns();
    then(static_cast<Seat>(payload));
  }
};

TEST_F(MemoryPipeTest, AnIdleMemoryDeliversALatencyLater) {
  for (Seat seat = 0; seat < 4; ++seat) begin(seat, 40e3);
  loop.run();
  EXPECT_THAT(ends, Eq(std::map<Seat, double>{{0, 2000}, {1, 2000}, {2, 2000}, {3, 2000}})) << "400 ns + 160 kB";
}

TEST_F(MemoryPipeTest, WhoWaitsForLatencyAnywayEndsAsBefore) {
  begin(0, 40e3);
  at(10'000, [this] { begin(1, 100); });
  loop.run();
  EXPECT_THAT(ends, Eq(std::map<Seat, double>{{0, 800}, {1, 10'002}})) << "50 B/ns";
}

// At 1000 ns the memory has been busy for longer than its latency. So a workgroup that begins then only shares it.
TEST_F(MemoryPipeTest, ABusyMemoryHasAFullPipe) {
  for (Seat seat = 0; seat < 4; ++seat) begin(seat, 80e3);
  at(1000, [this] { begin(4, 40e3); });
  loop.run();
  EXPECT_EQ(ends.at(4), 3000) << "five share 100 B/ns";
}

// At 100 ns three quarters of the pipe are still empty. The workgroup would end after 5 x 40 kB at 100 B/ns.
TEST_F(MemoryPipeTest, APipeThatFillsDelaysByWhatIsMissing) {
  for (Seat seat = 0; seat < 4; ++seat) begin(seat, 80e3);
  at(100, [this] { begin(4, 40e3); });
  loop.run();
  EXPECT_EQ(ends.at(4), 100 + 2000 + 300);
}

TEST_F(MemoryPipeTest, OnlyTheFirstPhaseOfAWorkgroupFillsThePipe) {
  then = [this](Seat seat) {
    if (later.emplace(seat, nullptr).second) begin(seat, 40e3);
  };
  for (Seat seat = 0; seat < 4; ++seat) begin(seat, 40e3);
  loop.run();
  EXPECT_EQ(ends.at(0), 2000 + 1600);
}

// The workgroups of a second wave begin while those of the first wave wait for their last loads.
TEST_F(MemoryPipeTest, WavesThatFollowEachOtherFillItOnce) {
  then = [this](Seat seat) {
    runner.leave(seat);
    if (seat < 8) begin(seat + 8, 40e3);
  };
  for (Seat seat = 0; seat < 8; ++seat) begin(seat, 40e3);
  loop.run();
  EXPECT_EQ(ends.at(0), 400 + 3200);
  EXPECT_EQ(ends.at(8), 400 + 2 * 3200);
}

TEST_F(MemoryPipeTest, LoadsThatHitAndStoresHaveNoPipe) {
  const ShapeId hit = runner.add_shape({.name = "hit", .read = 1, .read_miss = 0, .in_flight = {40e3}}, 0);
  const ShapeId store = runner.add_shape({.name = "store", .write = 1, .in_flight = {40e3}}, 0);
  for (Seat seat = 0; seat < 4; ++seat) runner.start(seat, 0, seat, store, 0, 20e3, *this, seat);
  runner.start(4, 1, 0, hit, 1, 40e3, *this, 4);
  loop.run();
  EXPECT_EQ(ends.at(0), 800);
  EXPECT_LT(ends.at(4), 400);
}

}  // namespace
}  // namespace moire::cu
