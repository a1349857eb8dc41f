#include <fmt/format.h>
#include <gmock/gmock.h>

#include "models/workload/operators/registry.hpp"
#include "models/workload/transformer/attention.hpp"
#include "models/workload/transformer/layer.hpp"
#include "models/workload/transformer/model.hpp"
#include "tests/support/example_equipped.hpp"
#include "tests/support/example_program.hpp"

namespace moire::transformer {
namespace {

using libraries::EquippedSystem;
using libraries::example_equipped;
using ::testing::HasSubstr;

// --- The model

TEST(Model, Gpt3HasItsPublishedParameters) {
  ModelSpec gpt3;
  gpt3.hidden = 12288;
  gpt3.heads = gpt3.kv_heads = 96;
  gpt3.head_dim = 128;
  gpt3.ffn = 49152;
  EXPECT_DOUBLE_EQ(gpt3.layer_parameters(), 12.0 * 12288 * 12288);
  EXPECT_NEAR(gpt3.layer_parameters() * 96, 175e9, 2e9);  // without embeddings
}

// --- Attention

TEST(Attention, OperationsAndBytesArePublishedOnes) {
  // Attention has two products of length x length x width per head; half of their elements are masked.
  const AttentionSpec spec{
      .tokens = 4096, .context = 2048, .queries = 2048, .heads = 12, .kv_heads = 12, .head_dim = 128};
  const AttentionWork forward = work_of(spec, 132);
  EXPECT_DOUBLE_EQ(forward.flop, 2 * 12 * 4.0 * 2048 * 2048 * 128 / 2);
  EXPECT_DOUBLE_EQ(forward.loaded, 3.0 * 4096 * 12 * 128 * 2);
  EXPECT_DOUBLE_EQ(forward.written, 4096.0 * 12 * 128 * 2);
  AttentionSpec backward = spec;
  backward.backward = true;
  EXPECT_DOUBLE_EQ(work_of(backward, 132).flop, 2.5 * forward.flop);
  EXPECT_GT(work_of(backward, 132).written, forward.written);
}

TEST(Attention, DecodingLoadsTheCacheOnceForQueriesThatShareIt) {
  const AttentionSpec spec{
      .tokens = 64, .context = 4096, .queries = 1, .heads = 8, .kv_heads = 1, .head_dim = 128, .causal = false};
  const AttentionWork work = work_of(spec, 132);
  EXPECT_DOUBLE_EQ(work.loaded, 64.0 * 8 * 128 * 2 + 64.0 * 4096 * 2 * 128 * 2);
  EXPECT_EQ(work.workgroups, 64 * 2);  // 64 blocks for 132 resident workgroups: two share a block's keys
}

// --- The layers

struct Built {
  std::unique_ptr<program::Program> program;
  std::string errors;
};

Built build(const std::string& keys, const EquippedSystem& system, std::int64_t heads = 8) {
  config::Diagnostics diagnostics;
  const std::string number = "{{value: {}, source: x}}";
  const auto of = [&](std::int64_t value) { return fmt::format(fmt::runtime(number), value); };
  const std::string model = fmt::format("{{layers: {}, hidden: {}, heads: {}, kv_heads: {}, head_dim: {}, ffn: {}}}",
                                        of(2), of(256), of(heads), of(heads / 2), of(32), of(1024));
  const auto root = config::load_text(
      "t.yaml",
      fmt::format("sources: {{x: a paper}}\nqueues: {{main: [{{transformer: {{model: {}, {}}}}}]}}\n", model, keys), {},
      diagnostics);
  Built built;
  program::WgTraceFiles traces;
  if (root) built.program = operators::build_program(*root, system, traces, diagnostics).program;
  built.errors = diagnostics.str();
  return built;
}

TEST(Transformer, EveryPassAndScheduleEnds) {
  for (const char* pass : {"prefill", "decode", "training"}) {
    for (const char* schedule : {"split", "pipelined", "fused", "gemm"}) {
      for (const program::Rank gpus : {2, 4}) {
        SCOPED_TRACE(fmt::format("{} {} on {}", pass, schedule, gpus));
        const EquippedSystem system = example_equipped(gpus);
        const Built built =
            build(fmt::format("pass: {}, schedule: {}, sequences: 3, length: 65, layers: 2", pass, schedule), system);
        ASSERT_EQ(built.errors, "");
        EXPECT_EQ(replay::run(system, *built.program).deadlock, "");
      }
    }
  }
}

TEST(Transformer, OneRankAloneHasNoCollective) {
  const EquippedSystem system = example_equipped(1);
  const Built built = build("pass: training, sequences: 1, length: 64", system);
  ASSERT_EQ(built.errors, "");
  for (const program::Operation& operation : built.program->queues.front().operations)
    EXPECT_TRUE(std::holds_alternative<program::Kernel>(operation));
  EXPECT_EQ(replay::run(system, *built.program).deadlock, "");
}

// In the backward pass, two GEMMs (gradients of data and of weights) replace each GEMM of the forward pass; attention
// stays one operation.
TEST(Transformer, TrainingHasTheOperationsOfBothPasses) {
  const EquippedSystem system = example_equipped(2);
  const auto operations = [&](const char* pass) {
    const Built built = build(fmt::format("pass: {}, schedule: gemm, sequences: 1, length: 64", pass), system);
    return built.program->queues.front().operations.size();
  };
  EXPECT_EQ(operations("prefill"), 4 + 1 + 3);  // 4 GEMMs; attention; 2 norms and 1 activation
  EXPECT_EQ(operations("training"), 8 + 8 + 1 + 3);
}

// Counts the products whose B is stored as [n][k].
struct Transposed {
  int products = 0, transposed = 0;
  void operator()(const char*, const kernel::GemmSpec& spec) { count(spec); }
  void operator()(const char*, const AllGatherGemmSpec& spec) { count(spec.gemm); }
  void operator()(const char*, const GemmReduceScatterSpec& spec) { count(spec.gemm); }
  void operator()(const char*, const kernel::StreamSpec&) {}
  void operator()(const char*, const AttentionSpec&) {}
  void operator()(const Gradient&) {}
  void count(const kernel::GemmSpec& spec) {
    ++products;
    transposed += spec.transposed_b ? 1 : 0;
  }
};

TEST(Transformer, OnlyTheForwardPassMultipliesByTransposedWeights) {
  const TransformerSpec spec;
  for (const program::Rank ranks : {1, 2}) {
    Transposed seen;
    Layer<Transposed> layer(spec, ranks, seen);
    layer.forward();
    EXPECT_EQ(seen.products, 4);
    EXPECT_EQ(seen.transposed, 4);
    layer.backward();
    EXPECT_EQ(seen.products, 12);
    EXPECT_EQ(seen.transposed, 4);
  }
}

TEST(Transformer, WhatDoesNotFitIsRefused) {
  EXPECT_THAT(build("sequences: 1, length: 64", example_equipped(2)).errors, HasSubstr("need a library"));
  EXPECT_THAT(build("sequences: 1, length: 64", example_equipped(3)).errors, HasSubstr("cannot be divided evenly"));
  EXPECT_THAT(build("sequences: 1, length: 64", example_equipped(2), 7).errors, HasSubstr("cannot share"));
  EXPECT_THAT(build("schedule: fused, sequences: 1000000, length: 16000000", example_equipped(2)).errors,
              HasSubstr("keys and values"));
}

}  // namespace
}  // namespace moire::transformer
