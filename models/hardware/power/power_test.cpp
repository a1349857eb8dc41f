#include "models/hardware/power/power.hpp"

#include <gmock/gmock.h>

#include <functional>

#include "sim/config/config.hpp"

namespace moire::power {
namespace {

using ::testing::HasSubstr;

PowerSpec round_numbers() {
  PowerSpec spec;
  spec.idle = {100};
  spec.cap = {500};
  spec.busy_cu = {2};
  spec.matrix_flop = {10e-12};
  spec.matrix_quiet = 0.4;
  spec.vector_flop = {20e-12};
  spec.l2_byte = {30e-12};
  spec.hbm_read_byte = {50e-12};
  spec.hbm_write_byte = {70e-12};
  spec.link_byte = {90e-12};
  spec.voltage_slope = 0.5;
  spec.lowest_clock = {0.5e9};
  return spec;
}

struct PowerTest : ::testing::Test, core::EventSink {
  void fire(std::uint64_t) override {}

  core::RunLoop loop;
  part::Site site{loop, 2, 1, part::Reach{2, true}, {}};
  Power& power(double share = 1) {
    auto made = std::make_unique<Power>(site, round_numbers(), PerSecond{2e9}, share);
    Power& out = *made;
    site.add(std::move(made));
    return out;
  }
  // Returns the joules per unit of work on each rank's meter.
  std::vector<double> joules(const Power& of, const core::ClassSpec& spec) {
    std::vector<double> all(2);
    for (const core::Metered& metered : spec.metered) {
      const std::string& name = site.sharing().meter(metered.meter).name;
      for (part::Rank rank = 0; rank < 2; ++rank)
        if (name == "rank " + std::to_string(rank) + " power") all[rank] += metered.per_work;
    }
    (void)of;
    return all;
  }
};

TEST(PowerSpec, VoltageIsStraightInTheClock) {
  const PowerSpec spec = round_numbers();
  EXPECT_DOUBLE_EQ(spec.voltage_squared(1), 1);
  EXPECT_DOUBLE_EQ(spec.voltage_squared(0.6), 0.8 * 0.8);
}

TEST_F(PowerTest, APhaseTakesTheEnergyOfEachUnitThatItUses) {
  const Power& here = power();
  program::PhaseShape shape{.name = "x", .read = 4, .read_miss = 0.5, .write = 2, .write_miss = 1, .in_flight = {}};
  core::ClassSpec spec;
  here.meter({shape, 0, 0}, spec);
  EXPECT_DOUBLE_EQ(joules(here, spec)[0], (6 * 30 + 2 * 50 + 2 * 70) * 1e-12);
  program::PhaseShape matrix{.name = "x",
                             .read = 1,
                             .read_miss = 0,
                             .flop = 3,
                             .power = 1,
                             .unit = program::Arithmetic::matrix_16bit,
                             .in_flight = {}};
  core::ClassSpec random, quiet;
  here.meter({matrix, 0, 0}, random);
  matrix.power = 0;
  here.meter({matrix, 0, 0}, quiet);
  EXPECT_DOUBLE_EQ(joules(here, random)[0], (3 * 10 + 30) * 1e-12);
  EXPECT_DOUBLE_EQ(joules(here, quiet)[0], 0.4 * (3 * 10 + 30) * 1e-12);
}

TEST_F(PowerTest, AStoreToAPeerTakesEnergyAtBothEnds) {
  const Power& here = power();
  const program::PhaseShape shape{.name = "x", .peer_write = 1, .in_flight = {}};
  core::ClassSpec spec;
  here.meter({shape, 0, 1}, spec);
  EXPECT_DOUBLE_EQ(joules(here, spec)[0], (30 + 90) * 1e-12);
  EXPECT_DOUBLE_EQ(joules(here, spec)[1], (90 + 30 + 70) * 1e-12);
  core::ClassSpec copy;
  here.use(part::CopyUse{.rank = 0, .peer = 1, .bytes = {1}}, copy);
  EXPECT_DOUBLE_EQ(joules(here, copy)[0], (30 + 50 + 90) * 1e-12);
  EXPECT_DOUBLE_EQ(joules(here, copy)[1], (30 + 70 + 90) * 1e-12);
}

TEST_F(PowerTest, OnlyTheCoreGoesWithTheVoltage) {
  const Power& here = power(0.5);
  const program::PhaseShape shape{.name = "x", .read = 1, .in_flight = {}};
  core::ClassSpec spec;
  here.meter({shape, 0, 0}, spec);
  EXPECT_DOUBLE_EQ(joules(here, spec)[0], (30 * 0.75 * 0.75 + 50) * 1e-12);
}

// Matrix arithmetic lowers the clock to 60 %, and the voltage is then 80 % of that at the full clock. From then on,
// each of the 3 CUs with workgroups draws 2 W x 0.6 x 0.64.
TEST_F(PowerTest, TheVoltageFollowsTheClockThatMatrixArithmeticLeaves) {
  Power& here = power();
  const program::PhaseShape shape{.name = "x", .read = 1, .in_flight = {}};
  for (int cu = 0; cu < 3; ++cu) here.occupied(0, true);
  here.clock_left(0, 0.6);
  core::ClassSpec lower;
  here.meter({shape, 0, 0}, lower);
  EXPECT_DOUBLE_EQ(joules(here, lower)[0], (30 * 0.8 * 0.8 + 50) * 1e-12);
  EXPECT_NEAR(site.sharing().level(0), 100 + 3 * 2 * 0.6 * 0.64, 1e-9);
  for (int cu = 0; cu < 3; ++cu) here.occupied(0, false);
  here.clock_left(0, 1);
  core::ClassSpec again;
  here.meter({shape, 0, 0}, again);
  EXPECT_DOUBLE_EQ(joules(here, again)[0], (30 + 50) * 1e-12);
  EXPECT_NEAR(site.sharing().level(0), 100, 1e-9);
}

// The energy is 100 W of idle power for 10 ms, 2 W of a CU for 3 ms, and 10 pJ for each of 10^12 operations in 4 ms.
TEST_F(PowerTest, EnergyIsTheIntegralOfPower) {
  Power& here = power();
  const program::PhaseShape matrix{
      .name = "x", .flop = 1, .power = 1, .unit = program::Arithmetic::matrix_16bit, .in_flight = {}};
  core::ClassSpec spec;
  here.meter({matrix, 0, 0}, spec);
  spec.bound = 2.5e14;
  const core::ClassId id = site.sharing().add_class(std::move(spec));
  struct Action : core::EventSink {
    std::function<void()> act;
    void fire(std::uint64_t) override { act(); }
  };
  Action begin, busy, free, end;
  begin.act = [&] { site.sharing().start(id, 1e12, *this, 0); };
  busy.act = [&] { here.occupied(0, true); };
  free.act = [&] { here.occupied(0, false); };
  end.act = [] {};
  loop.calendar().schedule(Time::from_us(1000), begin, 0);
  loop.calendar().schedule(Time::from_us(2000), busy, 0);
  loop.calendar().schedule(Time::from_us(5000), free, 0);
  loop.calendar().schedule(Time::from_us(10000), end, 0);
  loop.run();
  const auto drawn = here.drawn(0, loop.now());
  EXPECT_NEAR(drawn.joules, 100 * 10e-3 + 2 * 3e-3 + 10, 1e-9);
  EXPECT_NEAR(drawn.highest, 100 + 2 + 2500, 1e-9);
  EXPECT_NEAR(drawn.matrix_flop, 1e12, 1);
  EXPECT_NEAR(drawn.occupied, 3e-3, 1e-15);
  EXPECT_NEAR(here.drawn(1, Time::from_us(4000)).joules, 100 * 4e-3, 1e-12)
      << "idle, and what comes later is not its own";
}

std::string error_of(const std::string& text) {
  config::Diagnostics diagnostics;
  const auto tree = config::load_text("p.yaml", text, {}, diagnostics);
  EXPECT_FALSE(read_operating_point(*tree->find("at"), diagnostics)) << text;
  return diagnostics.str();
}

TEST(OperatingPoint, IsAWordOrAKey) {
  config::Diagnostics diagnostics;
  const auto read = [&](const std::string& text) {
    return *read_operating_point(*config::load_text("p.yaml", text, {}, diagnostics)->find("at"), diagnostics);
  };
  EXPECT_EQ(read("at: burst").kind, OperatingPoint::Kind::burst);
  EXPECT_TRUE(read("at: sustained").sought());
  EXPECT_EQ(read("at: {clock: 1.5 GHz}").clock.value, 1.5e9);
  EXPECT_EQ(read("at: {power_cap: 500 W}").cap.value, 500);
  EXPECT_THAT(error_of("at: fast"), HasSubstr("p.yaml:1:5"));
  EXPECT_THAT(error_of("at: {clock: 1.5 GHz, power_cap: 500 W}"), HasSubstr("2 operating points are given"));
  EXPECT_THAT(error_of("at: {power_cap: 500 GHz}"), HasSubstr("is a rate of events, not a power"));
}

}  // namespace
}  // namespace moire::power
