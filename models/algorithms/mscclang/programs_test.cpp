// Every program that comes with Moire, at several sizes: it gives what its collective asks for, without races, and the
// runtime's rules take it.
#include <gtest/gtest.h>

#include "models/algorithms/msccl/check.hpp"
#include "models/algorithms/msccl/rules.hpp"
#include "models/algorithms/mscclang/contract.hpp"
#include "models/algorithms/mscclang/programs/registry.hpp"
#include "tests/support/interpret_algorithm.hpp"

namespace moire::mscclang {
namespace {

std::optional<msccl::Algorithm> compiled(const std::string& name, const std::string& parameters, Shape shape,
                                         config::Diagnostics& diagnostics) {
  const auto node = config::load_text("test.yaml", parameters, {}, diagnostics);
  const ProgramEntry* entry = find_program(name);
  if (!node || entry == nullptr) return std::nullopt;
  return entry->compile(*node, diagnostics, shape);
}

// What the format states of a collective, executed (all ranks hold what is theirs).
std::string judge(const msccl::Algorithm& algorithm) {
  testing::Interpreter run(algorithm);
  Options options;
  options.collective = algorithm.collective;
  options.ranks = algorithm.ranks();
  options.in_place = algorithm.in_place;
  options.chunk_factor = places_matter(algorithm.collective) ? algorithm.chunks / algorithm.ranks() : algorithm.chunks;
  // Where input and output of a rank lie.
  const auto at = [&](std::size_t rank, bool output) {
    const Aliasing kind = aliasing(options);
    const auto shift = rank * static_cast<std::size_t>(options.chunk_factor);
    if (kind == Aliasing::same) return std::pair<std::size_t, std::size_t>(0, 0);
    if (kind == Aliasing::input_in_output) return std::pair<std::size_t, std::size_t>(1, output ? 0 : shift);
    if (kind == Aliasing::output_in_input) return std::pair<std::size_t, std::size_t>(0, output ? shift : 0);
    return std::pair<std::size_t, std::size_t>(output ? 1 : 0, 0);
  };
  for (std::int32_t r = 0; r < options.ranks; ++r) {
    const auto rank = static_cast<std::size_t>(r);
    const InitialBuffers initial = initial_buffers(options, r);
    for (std::size_t i = 0; i < initial.input.size(); ++i) {
      if (!initial.input[i]) continue;
      run.set(rank, at(rank, false).first, at(rank, false).second + i,
              Values::fingerprint_of(r, static_cast<std::int32_t>(i)));
    }
  }
  if (std::string error = run.run(); !error.empty()) return error;
  for (std::int32_t r = 0; r < options.ranks; ++r) {
    const auto rank = static_cast<std::size_t>(r);
    const InitialBuffers initial = initial_buffers(options, r);
    for (std::size_t i = 0; i < initial.output.size(); ++i) {
      const auto sum = wanted(options, r, static_cast<std::int32_t>(i));
      if (!sum) continue;
      std::uint64_t fingerprint = 0;
      for (const auto& [from, index] : *sum) fingerprint += Values::fingerprint_of(from, index);
      const auto [buffer, first] = at(rank, true);
      if (run.value(rank, buffer, first + i) != fingerprint) return fmt::format("rank {} output[{}] is wrong", r, i);
    }
  }
  return "";
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
  if (program == "all_reduce_hierarchical") all.push_back({"{}", {4, 8}});
  if (program == "all_to_all_three_step") all.push_back({"{}", {3, 9}});  // 81 chunks in a message: two steps
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
      EXPECT_EQ(judge(*algorithm), "");
      // And in the eyes of moire check.
      EXPECT_TRUE(msccl::check_rules(*algorithm, diagnostics)) << diagnostics.str();
      const msccl::Verdict verdict = msccl::check(*algorithm);
      EXPECT_TRUE(verdict.accepted(*algorithm));
      EXPECT_EQ(verdict.races(), 0U);
      continue;
    }
    const std::string errors = diagnostics.str();
    // Only what a program cannot be written for may be refused.
    EXPECT_TRUE(errors.find("power of two") != std::string::npos || errors.find("a program for 2") != std::string::npos)
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
    EXPECT_EQ(judge(*own), "");
    EXPECT_TRUE(msccl::check(*own).deadlock.never());
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
