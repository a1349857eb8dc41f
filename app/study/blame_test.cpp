#include "app/study/blame.hpp"

#include <gmock/gmock.h>

#include "app/study/study.hpp"
#include "models/hardware/machine/parts.hpp"
#include "tests/support/source_dir.hpp"

namespace moire::study {
namespace {

using machine::Apart;

// Returns a scenario whose queues run on the machine of four tiny GPUs, or on another system, and share memory, links
// and CUs.
std::string scenario_of(const std::string& queues, const std::string& system = "tests/data/tiny_node.yaml") {
  return "description: x\nsystem: " + support::source_dir() + "/" + system + "\nprogram:\n" + queues;
}
const std::string library = "library: " + support::source_dir() + "/tests/data/tiny_library.yaml";
const std::string stream = "    a: [{stream: {read: 8 MB, write: 4 MB}}]\n";
const std::string gemm = "    a: [{gemm: {m: 512, n: 512, k: 256}}]\n";
const std::string stream_too = "    b: [{stream: {read: 64 MB, write: 32 MB}}]\n";
const std::string exchange = "    b: [{all_to_all: {bytes_per_peer: 512 KiB, " + library + "}}]\n";
const std::string copies = "    b: [{all_to_all: {bytes_per_peer: 512 KiB, engine: dma}}]\n";
const std::string exchange_too = "    a: [{all_to_all: {bytes_per_peer: 256 KiB, " + library + "}}]\n";
const std::string copies_too = "    a: [{all_to_all: {bytes_per_peer: 256 KiB, engine: dma}}]\n";

std::string decompressions() {
  const std::string one =
      "[{decompress: {bytes: 8 MiB, chunks: 4, codec: " + support::source_dir() + "/configs/codecs/snappy.yaml}}]\n";
  std::string text = scenario_of("  queues:\n    a: " + one + "    b: " + one, "configs/systems/8xb200.yaml");
  for (const char* key : {"variants: {engine: {program.queues.a.0", ", program.queues.b.0"})
    text += std::string(key) + ".decompress.codec.decompress_on: engine";
  return text + "}}\n";
}

PreparedRun prepared(const std::string& text) {
  config::Diagnostics diagnostics;
  auto tree = config::load_text("s.yaml", text, {}, diagnostics);
  const Scenario scenario = read_scenario(std::move(*tree), {}, diagnostics);
  const PreparedRunPtr run = Preparer().prepare(scenario, run_of(scenario, 0), diagnostics);
  EXPECT_TRUE(run) << diagnostics.str();
  return *run;
}

std::vector<QueueResult> each_alone(const PreparedRun& run) {
  std::vector<QueueResult> alone;
  for (std::uint32_t q = 0; q < run.program->queues.size(); ++q) {
    alone.push_back(simulate(run.only(q), nullptr).queues.front());
    alone.back().number = q;
  }
  return alone;
}

std::vector<QueueBlame> blame_of(const PreparedRun& run, int* simulations = nullptr) {
  return blame(run, simulate(run, nullptr).queues, each_alone(run), [&](const Apart& apart) {
    if (simulations != nullptr) ++*simulations;
    return simulate(run, nullptr, apart);
  });
}

class Pairs : public testing::TestWithParam<std::string> {};

// If no kind of sharing is left, every queue takes as long as it does alone. Therefore the losses of a queue add up to
// the difference between its time in the run and its time alone.
TEST_P(Pairs, WithEverythingApartQueuesEndAsTheyDoAlone) {
  const PreparedRun run = prepared(GetParam());
  Apart apart{.queues = static_cast<std::uint32_t>(run.program->queues.size())};
  for (const machine::RegisteredPart& part : machine::parts()) {
    for (const part::BlameKind& kind : part.declaration().blame) apart.kinds.push_back(kind.key);
  }
  // A run apart adds up the loads of its parts in another order, so its rounding errors differ by some picoseconds.
  const std::vector<QueueResult> ends = simulate(run, nullptr, apart).queues, alone = each_alone(run);
  ASSERT_EQ(ends.size(), alone.size());
  for (std::size_t q = 0; q < ends.size(); ++q) {
    EXPECT_NEAR(ends[q].end.ns(), alone[q].end.ns(), 0.1) << alone[q].name;
    EXPECT_NEAR(ends[q].waited.ns(), alone[q].waited.ns(), 0.1) << alone[q].name;
  }
}

TEST_P(Pairs, PartsAddUpToTheDifference) {
  const PreparedRun run = prepared(GetParam());
  const std::vector<QueueResult> together = simulate(run, nullptr).queues;
  const std::vector<QueueResult> alone = each_alone(run);
  const std::vector<QueueBlame> queues = blame_of(run);
  ASSERT_EQ(queues.size(), alone.size());
  for (std::size_t q = 0; q < queues.size(); ++q) EXPECT_EQ(queues[q].sum(), together[q].end - alone[q].end);
}

// A counterfactual run that removes no kind of sharing equals the run.
TEST_P(Pairs, NothingApartIsTheRunItself) {
  const PreparedRun run = prepared(GetParam());
  const RunResult result = simulate(run, nullptr);
  EXPECT_EQ(simulate(run, nullptr, {.queues = 2}).queues, result.queues);
}

INSTANTIATE_TEST_SUITE_P(
    Blame, Pairs,
    testing::Values(scenario_of("  queues:\n" + stream + exchange), scenario_of("  queues:\n" + gemm + exchange),
                    scenario_of("  queues:\n" + stream + copies), scenario_of("  queues:\n" + exchange_too + exchange),
                    scenario_of("  queues:\n" + copies_too + copies),
                    scenario_of("  queues:\n" + exchange_too + copies),
                    scenario_of("  order: serial\n  queues:\n" + stream + exchange),
                    scenario_of("  launch: [b, a]\n  queues:\n" + stream + exchange),
                    scenario_of("  queues:\n" + exchange_too + exchange, "tests/data/tiny_cluster.yaml"),
                    decompressions(),
                    scenario_of("  queues:\n    a: [{gemm: {m: 2048, n: 2048, k: 1024}}]\n" + stream_too,
                                "configs/systems/4xh200.yaml")));

TEST(Blame, CopiesLeaveTheCusAlone) {
  int simulations = 0;
  const auto queues = blame_of(prepared(scenario_of("  queues:\n" + stream + copies)), &simulations);
  EXPECT_EQ(simulations, 1) << "the queues share only memory";
  EXPECT_GT(queues[0].of("memory"), Time{});
  EXPECT_EQ(queues[0].sum(), queues[0].of("memory"));
}

TEST(Blame, CopiesOfTwoQueuesWaitForEnginesAndLinks) {
  const auto queues = blame_of(prepared(scenario_of("  queues:\n" + copies_too + copies)));
  EXPECT_GT(queues[1].of("engine_queue"), Time{});
  EXPECT_EQ(queues[1].of("cu_wait"), Time{});
}

TEST(Blame, DecompressionsOfTwoQueuesWaitForTheirEngine) {
  const auto queues = blame_of(prepared(decompressions()));
  EXPECT_GT(queues[1].of("engine_queue"), Time{});
  EXPECT_EQ(queues[1].of("cu_wait"), Time{});
}

// Queues that run one after the other never share anything. The second queue loses only the time until the first queue
// has ended.
TEST(Blame, SerialQueuesLoseTheirTurn) {
  const PreparedRun run = prepared(scenario_of("  order: serial\n  queues:\n" + stream + exchange));
  const auto queues = blame_of(run);
  EXPECT_EQ(queues[0].sum(), Time{});
  EXPECT_EQ(queues[1].sum(), queues[1].of("launch"));
  EXPECT_GT(queues[1].of("launch"), each_alone(run)[0].end - Time::from_us(10));
}

// A kernel that fills the GPU for a long time delays the first workgroup of the other queue's kernel.
TEST(Blame, WaitingForTheFirstPlaceIsToldFromLaterWaves) {
  const std::string big = "    a: [{gemm: {m: 4096, n: 4096, k: 256}}]\n";
  const auto queues = blame_of(prepared(scenario_of("  queues:\n" + big + exchange)));
  EXPECT_GT(queues[1].of("cu_wait").us(), 0.9 * queues[1].sum().us());
}

}  // namespace
}  // namespace moire::study
