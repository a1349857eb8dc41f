#include "models/hardware/cu/instructions.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "models/hardware/machine/machine.hpp"
#include "sim/config/config.hpp"
#include "tests/support/csv_table.hpp"
#include "tests/support/source_dir.hpp"

namespace moire::cu {
namespace {

// A CU of 1 GHz that issues 4 instructions per clock. A round of 1 us has 2,000 instructions, so it takes half of the
// slots.
struct Slots : ::testing::Test {
  CuArraySpec compute;
  program::PhaseShape shape{.name = "rounds", .instructions = {.all = 2000}, .in_flight = {}};

  void SetUp() override {
    compute.groups = {{1, 1, 0}};
    compute.wavefront = 32;
    compute.clock = {1e9};
    compute.issue_per_clock = 4;
  }
  double wait(std::uint32_t workgroups, double time = 1e-6) const {
    return wait_for_slots(compute, shape, 1, time, 1, workgroups) * 1e9;
  }
};

TEST_F(Slots, AWorkgroupWaitsForTheQueueThatItFinds) {
  EXPECT_EQ(wait(1), 0);
  EXPECT_DOUBLE_EQ(wait(2), 250) << "half of the time it finds the other one, which takes 500 ns";
  EXPECT_DOUBLE_EQ(wait(3), 500 * (2 * 750 / 1250.));
  EXPECT_NEAR(1000 + wait(32), 32 * 500, 1) << "many workgroups use all slots";
  EXPECT_DOUBLE_EQ(wait_for_slots(compute, shape, 0.5, 0.5e-6, 1, 2) * 1e9, 125) << "half of the round";
  EXPECT_DOUBLE_EQ(wait_for_slots(compute, shape, 1, 1e-6, 0.5, 2) * 1e9, 1000) << "at half the clock all slots";
}

TEST_F(Slots, ARoundTakesAtLeastItsOwnSlots) {
  EXPECT_DOUBLE_EQ(wait(1, 0.1e-6), 400);
  EXPECT_DOUBLE_EQ(wait(2, 0.1e-6), 900);
}

TEST_F(Slots, NothingWaitsIfNothingIsCounted) {
  compute.issue_per_clock.reset();
  EXPECT_EQ(wait(8), 0);
  compute.issue_per_clock = 4;
  shape.instructions = {};
  EXPECT_EQ(wait(8), 0);
}

TEST_F(Slots, IntegerUnitsHaveAQueueOfTheirOwn) {
  compute.integer_per_clock = 2;
  shape.instructions.integer = 500;
  EXPECT_DOUBLE_EQ(wait(2), 250 + 250 * 0.25);
}

TEST_F(Slots, TheOthersWaitForALoneWavefront) {
  shape.instructions.lone = 400;  // 400 clocks of one scheduler instead of 100 of all four
  EXPECT_DOUBLE_EQ(wait(2), 250 * (500 + 300) / 500.);
}

TEST_F(Slots, InstructionsOfLoadsTakeNoTimeOfTheirOwn) {
  EXPECT_EQ(issue_time(compute, shape, 1), 0);
  compute.issue_interval = 4.5;
  shape.threads = 256;
  EXPECT_DOUBLE_EQ(issue_time(compute, shape, 1) * 1e9, 2000 / 8 * 4.5);
  shape.instructions.with_loads = 1200;
  EXPECT_DOUBLE_EQ(issue_time(compute, shape, 0.5) * 1e9, 800 / 8 * 4.5 * 2);
}

// Measured: tasks of one row a vector of the unfused embedding kernel with one to five workgroups on an SM. The time of
// a task follows from the times of 8,192 and of 4,096 of them, and contains the start of its workgroup.
TEST(H200Slots, TasksBesideOthersTakeLongerByTheirInstructions) {
  config::Diagnostics diagnostics;
  const auto root = config::load(support::source_dir() + "/configs/systems/4xh200.yaml", {}, diagnostics);
  const auto system = config::parse<machine::SystemSpec>(*root, diagnostics);
  ASSERT_TRUE(system && diagnostics.ok()) << diagnostics.str();
  const CuArraySpec& compute = system->node.gpu.compute;
  std::map<std::pair<std::string, int>, std::map<std::string, double>> times;  // [data type, workgroups][batch] in us
  for (const support::CsvRow& row : support::csv_table("validation/h200/operator_resident.csv")) {
    if (row.at("pooling") != "1") continue;
    const int workgroups = std::stoi(row.at("wgs_per_sm_unfused"));
    times[{row.at("dtype"), workgroups}][row.at("global_batch")] = std::stod(row.at("unfused_kernel_us"));
  }
  const std::map<std::string, double> additions = {{"fp32", 4}, {"bf16", 16}, {"fp16", 24}};  // of a load
  const auto task = [&](const std::pair<std::string, int>& of) {
    const double tasks_of_a_place = 4096. / 132 / of.second;
    return (times[of].at("8192") - times[of].at("4096")) / tasks_of_a_place;
  };
  EXPECT_EQ(times.size(), 13);
  for (const auto& [of, unused] : times) {
    const auto& [dtype, workgroups] = of;
    const double all = 8 * (217 + 8 * (7 + additions.at(dtype)));  // 8 wavefronts, 8 loads
    const program::PhaseShape shape{
        .name = "task", .instructions = {.all = all, .integer = 0.43 * all}, .in_flight = {}};
    const double alone = task({dtype, 1});
    const double loop = alone * 1e-6 - compute.slot_refill.seconds();
    const double wait = wait_for_slots(compute, shape, 1, loop, 1, static_cast<std::uint32_t>(workgroups)) * 1e6;
    EXPECT_NEAR(alone + wait, task(of), 0.05 * task(of)) << dtype << ", " << workgroups;
  }
}

}  // namespace
}  // namespace moire::cu
