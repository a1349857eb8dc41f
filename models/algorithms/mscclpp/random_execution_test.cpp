// Compares the checker with random executions of correct plans and of their mutants.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "models/algorithms/mscclpp/check.hpp"
#include "models/algorithms/mscclpp/reader.hpp"
#include "models/algorithms/mscclpp/rules.hpp"
#include "tests/support/mutate_plan.hpp"
#include "tests/support/random_execution_mscclpp.hpp"
#include "tests/support/source_dir.hpp"

namespace moire::mscclpp {
namespace {

namespace fs = std::filesystem;

Plan read(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  config::Diagnostics diagnostics;
  auto plan = read_plan(file.string(), text, diagnostics);
  EXPECT_TRUE(plan.has_value()) << diagnostics.str();
  return plan.value_or(Plan{});
}

struct Endings {
  int right = 0;
  int wrong = 0;
  int stuck = 0;
};

// Runs the plan `times` times in random orders and counts how the runs end. Chunks are cut by the last of cuts_of(): if
// the plan has pipelines or reuses scratch, this cut has several rounds and reuses scratch.
Endings run(const Plan& plan, int times, std::uint64_t seed) {
  Endings endings;
  const Cut cut = cuts_of(plan).back();
  for (int i = 0; i < times; ++i) {
    switch (RandomExecution(plan, cut, seed + static_cast<std::uint64_t>(i)).run()) {
      case Ending::right:
        ++endings.right;
        break;
      case Ending::wrong:
        ++endings.wrong;
        break;
      case Ending::stuck:
        ++endings.stuck;
    }
  }
  return endings;
}

class AgainstRandom : public ::testing::TestWithParam<const char*> {};

TEST_P(AgainstRandom, WhatIsAcceptedComesOutRight) {
  const Plan plan = read(fs::path(support::source_dir()) / "tests" / GetParam());
  const Endings endings = run(plan, 200, 1);
  EXPECT_EQ(endings.right, 200);

  std::mt19937_64 random(20240229);
  int accepted = 0;
  int faulty = 0;
  int shown = 0;  // faulty mutants of which some execution does not end correctly
  for (int i = 0; i < 400; ++i) {
    Plan mutant = plan;
    const std::size_t changes = 1 + random() % 2;
    for (std::size_t c = 0; c < changes; ++c) mutate(mutant, random);
    config::Diagnostics diagnostics;
    const Verdict verdict = check(mutant, diagnostics);
    if (!verdict.judged || !diagnostics.ok()) continue;
    const Endings found = run(mutant, 20, 1000 + static_cast<std::uint64_t>(i));
    config::Diagnostics told;
    report(mutant, verdict, told);
    if (verdict.faults.empty()) {
      ++accepted;
      EXPECT_EQ(found.right, 20) << "mutant " << i << " is accepted, " << found.wrong << " are wrong, " << found.stuck
                                 << " stuck";
      continue;
    }
    ++faulty;
    shown += found.right < 20 ? 1 : 0;
    if (verdict.has(Fault::Kind::deadlock)) {
      EXPECT_EQ(found.right, 0) << "mutant " << i << "\n" << told.str();
    }
    // Without a race, every order gives the same result.
    if (!verdict.has(Fault::Kind::race) && verdict.has(Fault::Kind::wrong)) {
      EXPECT_EQ(found.right, 0) << "mutant " << i << "\n" << told.str();
    }
  }
  EXPECT_GT(accepted, 10);
  EXPECT_GT(faulty, 20);
  EXPECT_GT(shown, faulty / 2);
  RecordProperty("accepted", accepted);
  RecordProperty("faulty", faulty);
  RecordProperty("shown", shown);
}

INSTANTIATE_TEST_SUITE_P(Plans, AgainstRandom,
                         ::testing::Values("data/allgather_puts.plan.json", "data/allreduce_packets.plan.json",
                                           "data/allreduce_switch.plan.json", "data/allreduce_v1.plan.json",
                                           "data/alltoall_shared.plan.json", "data/reducescatter_ports.plan.json",
                                           "data/through_scratch.plan.json"),
                         [](const auto& tested) {
                           const std::string stem = fs::path(tested.param).stem().stem().string();
                           return stem;
                         });

// Every plan in tests/plans is wrong, and at least one of 200 random orders of execution shows that.
TEST(AgainstRandom, FaultsOfWrongPlansCanBeSeen) {
  int plans = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(support::source_dir()) / "tests/plans")) {
    if (entry.path().extension() != ".json") continue;
    ++plans;
    EXPECT_LT(run(read(entry.path()), 200, 1).right, 200) << entry.path();
  }
  EXPECT_GE(plans, 6);
}

}  // namespace
}  // namespace moire::mscclpp
