// Tests programs that cannot end. The simulation must report a deadlock, and the report must name the cycle of waits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/study/simulate.hpp"
#include "tests/support/source_dir.hpp"

namespace moire {
namespace {

using program::Phase;
using program::Rank;
using testing::AllOf;
using testing::HasSubstr;

machine::SystemSpec tiny_system() {
  config::Diagnostics diagnostics;
  const auto tree = config::load(support::source_dir() + "/tests/data/tiny_node.yaml", {}, diagnostics);
  auto spec = config::parse<machine::SystemSpec>(*tree, diagnostics);
  EXPECT_TRUE(diagnostics.ok()) << diagnostics.str();
  return *spec;
}

// Every workgroup waits for a flag of its own rank, then raises a flag of a peer.
struct WaitThenSignal final : program::KernelBody {
  std::int64_t count = 1;
  program::FlagBlock flags;
  bool waits = true;
  std::optional<Rank> ranks;  // number of ranks, of which each signals the next rank; empty: a rank signals itself

  std::int64_t workgroups(Rank) const override { return count; }
  bool phase(Rank rank, std::int64_t, std::uint32_t step, Phase& phase) const override {
    phase = {};
    if (step == 0) {
      phase.kind = waits ? Phase::Kind::wait : Phase::Kind::nothing;
      phase.flag = flags.at(rank, 0);
      phase.target = 1;
      return true;
    }
    if (step > 1) return false;
    phase.kind = Phase::Kind::signal;
    phase.peer = ranks ? (rank + 1) % *ranks : rank;
    phase.flag = flags.at(phase.peer, 0);
    return true;
  }
};

program::Kernel kernel(std::string name, std::shared_ptr<WaitThenSignal> body) {
  program::Kernel made;
  made.name = std::move(name);
  made.body = std::move(body);
  return made;
}

study::PreparedRun run_with(std::unique_ptr<program::Program> program) {
  return {std::make_shared<libraries::EquippedSystem>(libraries::EquippedSystem{tiny_system(), {}}),
          std::move(program)};
}

std::string report_of(std::unique_ptr<program::Program> program) {
  const study::RunResult result = study::simulate(run_with(std::move(program)), nullptr);
  EXPECT_EQ(result.metrics.empty(), !result.deadlock.empty());
  return result.deadlock;
}

TEST(Deadlock, RanksThatWaitForEachOther) {
  auto program = std::make_unique<program::Program>(4);
  auto body = std::make_shared<WaitThenSignal>();
  body->ranks = 4;
  body->flags = program->add_flags(
      {"ready", 1, [](Rank rank, std::uint32_t) { return std::pair<Rank, std::string>((rank + 3) % 4, "exchange"); }});
  program->queues.push_back({"main", 0, {}});
  program->queues[0].operations.emplace_back(kernel("exchange", body));
  const std::string report = report_of(std::move(program));
  EXPECT_THAT(report, AllOf(HasSubstr("deadlock at"), HasSubstr("cycle"), HasSubstr("rank 0"), HasSubstr("rank 3"),
                            HasSubstr("queue 'main'"), HasSubstr("'exchange'"), HasSubstr("workgroup 0 on CU 0"),
                            HasSubstr("flag ready[0] of rank 0 >= 1, it is 0")));
}

TEST(Deadlock, AKernelThatHoldsEveryCuWhileItWaitsForOneThatNeedsACu) {
  auto program = std::make_unique<program::Program>(4);
  auto holder = std::make_shared<WaitThenSignal>();
  auto setter = std::make_shared<WaitThenSignal>();
  holder->flags = program->add_flags(
      {"go", 1, [](Rank rank, std::uint32_t) { return std::pair<Rank, std::string>(rank, "setter"); }});
  setter->flags = holder->flags;
  setter->waits = false;
  holder->count = 8 * 8;  // each of the 8 CUs holds 8 workgroups of 256 threads
  program->queues.push_back({"first", 0, {}});
  program->queues.push_back({"second", 0, {}});
  program->queues[0].operations.emplace_back(kernel("holder", holder));
  program->queues[1].operations.emplace_back(kernel("setter", setter));
  const std::string report = report_of(std::move(program));
  EXPECT_THAT(report, AllOf(HasSubstr("cycle"), HasSubstr("queue 'first' operation 'holder'"),
                            HasSubstr("queue 'second' operation 'setter'"), HasSubstr("waits for flag go[0] of rank 0"),
                            HasSubstr("1 workgroups wait for a CU slot")));
}

TEST(Deadlock, AQueueThatWaitsForWhatIsBehindIt) {
  auto program = std::make_unique<program::Program>(4);
  auto setter = std::make_shared<WaitThenSignal>();
  setter->waits = false;
  setter->flags = program->add_flags(
      {"go", 1, [](Rank rank, std::uint32_t) { return std::pair<Rank, std::string>(rank, "setter"); }});
  program->queues.push_back({"main", 0, {}});
  program->queues[0].operations.emplace_back(
      program::Wait{"gate", [flags = setter->flags](Rank rank) { return flags.at(rank, 0); }, 1});
  program->queues[0].operations.emplace_back(kernel("setter", setter));
  const std::string report = report_of(std::move(program));
  EXPECT_THAT(report, AllOf(HasSubstr("cycle"), HasSubstr("operation 'gate'"), HasSubstr("operation 'setter'"),
                            HasSubstr("is behind another operation of its queue")));
}

TEST(Deadlock, IsNotSeenWhereAFlagComesLate) {
  auto program = std::make_unique<program::Program>(4);
  auto holder = std::make_shared<WaitThenSignal>();
  auto setter = std::make_shared<WaitThenSignal>();
  holder->flags = program->add_flags(
      {"go", 1, [](Rank rank, std::uint32_t) { return std::pair<Rank, std::string>(rank, "setter"); }});
  setter->flags = holder->flags;
  setter->waits = false;
  holder->count = 8 * 8 - 1;  // leaves space for one more workgroup
  program->queues.push_back({"first", 0, {}});
  program->queues.push_back({"second", 0, {}});
  program->queues[0].operations.emplace_back(kernel("holder", holder));
  program->queues[1].operations.emplace_back(kernel("setter", setter));
  EXPECT_EQ(report_of(std::move(program)), "");
}

}  // namespace
}  // namespace moire
