// Compiles every program that comes with Moire for several machines and parameters. Each algorithm must give the result
// of its collective, have no races and keep the rules of MSCCL's runtime.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "models/algorithms/msccl/check.hpp"
#include "models/algorithms/msccl/rules.hpp"
#include "models/algorithms/mscclang/programs/registry.hpp"

namespace moire::mscclang {
namespace {

std::optional<msccl::Algorithm> compiled(const std::string& name, const std::string& parameters, Shape shape,
                                         config::Diagnostics& diagnostics) {
  const auto node = config::load_text("test.yaml", parameters, {}, diagnostics);
  const ProgramEntry* entry = find_program(name);
  if (!node || entry == nullptr) return std::nullopt;
  return entry->compile(*node, diagnostics, shape);
}

struct Case {
  std::string parameters;
  Shape shape;
};

std::vector<Case> cases(const std::string& program) {
  std::vector<Case> all;
  for (const Shape shape :
       {Shape{1, 2}, Shape{1, 4}, Shape{1, 8}, Shape{2, 4}, Shape{4, 2}, Shape{3, 3}, Shape{2, 8}}) {
    for (const char* parameters : {"{}", "{instances: 2}", "{instances: 3, protocol: ll}"}) {
      all.push_back({parameters, shape});
    }
  }
  if (program.ends_with("_ring")) {
    all.push_back({"{channels: 4, instances: 2}", {1, 8}});
    all.push_back({"{channels: 3}", {1, 8}});
  }
  if (program == "all_reduce_binomial") all.push_back({"{trees: 1}", {1, 16}});
  if (program == "broadcast_chain") all.push_back({"{chunks: 9, instances: 2}", {1, 5}});
  if (program == "broadcast_chain_encoded") all.push_back({"{chunks: 9, coders: 4, instances: 2}", {1, 5}});
  if (program == "all_reduce_hierarchical") all.push_back({"{}", {4, 8}});
  if (program == "all_to_all_three_step") all.push_back({"{}", {3, 9}});  // 81 chunks, two steps
  return all;
}

class ShippedProgram : public ::testing::TestWithParam<std::string> {};

TEST_P(ShippedProgram, DoesWhatItsCollectiveAsks) {
  int done = 0;
  for (const Case& c : cases(GetParam())) {
    SCOPED_TRACE(fmt::format("{} on {}x{}", c.parameters, c.shape.nodes, c.shape.gpus_per_node));
    config::Diagnostics diagnostics;
    const auto algorithm = compiled(GetParam(), c.parameters, c.shape, diagnostics);
    if (algorithm) {
      ++done;
      EXPECT_TRUE(msccl::check_rules(*algorithm, diagnostics)) << diagnostics.str();
      const msccl::Verdict verdict = msccl::check(*algorithm);
      EXPECT_TRUE(verdict.accepted(*algorithm));
      EXPECT_EQ(verdict.races(), 0U);
      for (const msccl::PatternVerdict& pattern : verdict.patterns) EXPECT_EQ(pattern.result.unwritten_reads, 0U);
      continue;
    }
    const std::string errors = diagnostics.str();
    // A program may refuse a machine only because of its number of GPUs or nodes.
    EXPECT_TRUE(errors.find("power of two") != std::string::npos ||
                errors.find("the program is for 2") != std::string::npos)
        << errors;
  }
  EXPECT_GE(done, 6);
}

TEST(ShippedPrograms, WithReceiveBlocksOfTheirOwnHangAtNoSize) {
  int judged = 0;
  for (const ProgramEntry& entry : programs()) {
    config::Catalogue catalogue;
    describe(catalogue);
    if (catalogue.find(entry.name)->find("own_receive_blocks") == nullptr) continue;
    SCOPED_TRACE(entry.name);
    config::Diagnostics diagnostics;
    const auto usual = compiled(entry.name, "{}", {2, 4}, diagnostics);
    const auto own = compiled(entry.name, "{own_receive_blocks: true}", {2, 4}, diagnostics);
    ASSERT_TRUE(usual && own) << diagnostics.str();
    const msccl::Verdict verdict = msccl::check(*own);
    EXPECT_TRUE(verdict.accepted(*own));
    EXPECT_TRUE(verdict.deadlock.never());
    if (!msccl::check(*usual).deadlock.never()) ++judged;
  }
  EXPECT_GE(judged, 6);
}

TEST(ShippedPrograms, CompileFor512Ranks) {
  for (const char* name : {"all_to_all_two_step", "all_to_all_three_step"}) {
    SCOPED_TRACE(name);
    config::Diagnostics diagnostics;
    const auto algorithm = compiled(name, "{}", {64, 8}, diagnostics);
    ASSERT_TRUE(algorithm) << diagnostics.str();
    EXPECT_TRUE(msccl::check_rules(*algorithm, diagnostics)) << diagnostics.str();
    EXPECT_EQ(algorithm->ranks(), 512);
  }
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const ProgramEntry& entry : programs()) all.push_back(entry.name);
  return all;
}
INSTANTIATE_TEST_SUITE_P(, ShippedProgram, ::testing::ValuesIn(names()), [](const auto& test) { return test.param; });

}  // namespace
}  // namespace moire::mscclang
