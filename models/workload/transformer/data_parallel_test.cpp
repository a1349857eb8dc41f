// Tests of the operator data_parallel_step.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <random>

#include "models/workload/operators/registry.hpp"
#include "tests/support/example_codec.hpp"
#include "tests/support/example_equipped.hpp"
#include "tests/support/example_program.hpp"

namespace moire::transformer {
namespace {

using libraries::EquippedSystem;
using libraries::example_equipped;
using ::testing::HasSubstr;

// A model with 256 x (512 + 256 + 2048) = 720,896 parameters per layer. In the order of the backward pass, its matrices
// have 262,144, 262,144, 65,536 and 131,072 parameters.
constexpr double layer_parameters = 262144 + 262144 + 65536 + 131072;
const std::string model =
    "{layers: {value: 2, source: s}, hidden: {value: 256, source: s}, heads: {value: 8, source: s}, "
    "kv_heads: {value: 4, source: s}, head_dim: {value: 32, source: s}, ffn: {value: 1024, source: s}}";

struct Ran {
  std::string errors;
  std::vector<std::string> notes;
  double us = 0, put_bytes = 0;
};

Ran run(const std::string& operations, const EquippedSystem& system) {
  config::Diagnostics diagnostics;
  const auto root = config::load_text(
      "t.yaml", codec::codec_sources + fmt::format("queues: {{main: [{}]}}\n", operations), {}, diagnostics);
  Ran ran;
  program::WgTraceFiles traces;
  operators::BuiltProgram built;
  if (root) built = operators::build_program(*root, system, traces, diagnostics);
  ran.errors = diagnostics.str();
  ran.notes = built.notes;
  if (!built.program) return ran;
  const replay::Result result = replay::run(system, *built.program);
  EXPECT_EQ(result.deadlock, "");
  ran.us = result.end.us();
  ran.put_bytes = result.traffic.put_bytes.value;
  return ran;
}

std::string step(const std::string& keys) {
  return fmt::format("{{data_parallel_step: {{model: {}, sequences: 2, length: 128, {}}}}}", model, keys);
}
std::string compute(std::int64_t layers) {
  return fmt::format(
      "{{transformer: {{model: {}, pass: training, schedule: gemm, sequences: 2, length: 128, layers: {}, "
      "group: alone}}}}",
      model, layers);
}

constexpr const char* by_host = "gradients: {by: host, chunks: 2}, parameters: {by: host, chunks: 2}";

double with_groups(const std::string& operations, const EquippedSystem& system) {
  config::Diagnostics diagnostics;
  const auto root = config::load_text("t.yaml",
                                      codec::codec_sources + fmt::format("grid: {{alone: 1, all: {}}}\nqueues: {{main: "
                                                                         "[{}]}}\n",
                                                                         system.ranks(), operations),
                                      {}, diagnostics);
  program::WgTraceFiles traces;
  const auto built = operators::build_program(*root, system, traces, diagnostics);
  EXPECT_EQ(diagnostics.str(), "");
  return built.program ? replay::run(system, *built.program).end.us() : 0;
}

TEST(DataParallelStep, WithoutOverlapItIsTheSumOfItsParts) {
  const EquippedSystem system = example_equipped(1, 4);
  for (const bool sharded : {false, true}) {
    const double parameters = 2 * layer_parameters, share = parameters / (sharded ? 4 : 1);
    const double taken =
        run(step(fmt::format(
                "layers: 2, overlap: false, bucket: 1 GiB, optimiser: {}, gradients: {{by: host, chunks: 2}}{}",
                sharded ? "sharded" : "plain", sharded ? ", parameters: {by: host, chunks: 2}" : "")),
            system)
            .us;
    const std::string exchange = sharded ? "chunked_reduce_scatter" : "chunked_all_reduce";
    std::string parts =
        compute(2) + fmt::format(", {{{}: {{bytes_per_rank: {} B, chunks: 2}}}}", exchange, 2 * parameters);
    parts += fmt::format(", {{stream: {{read: {0} B, write: {0} B}}}}", 14 * share);
    if (sharded) parts += fmt::format(", {{chunked_all_gather: {{bytes_per_rank: {} B, chunks: 2}}}}", 2 * share);
    const double sum = with_groups(parts, system);
    EXPECT_NEAR(taken, sum, 1e-3 * sum) << (sharded ? "sharded" : "plain");
  }
}

TEST(DataParallelStep, OverlapHidesAndNeverCosts) {
  std::mt19937 random(31);
  for (int i = 0; i < 30; ++i) {
    const EquippedSystem system = example_equipped(1 + random() % 2, 2 + random() % 3);
    const char* optimiser = std::array{"plain", "sharded"}[random() % 2];
    const std::string bucket = std::array{"1 B", "200 KiB", "1 MiB", "1 GiB"}[random() % 4];
    const std::string compression = std::array{"off", "every_hop"}[random() % 2];
    std::string keys = fmt::format("layers: {}, optimiser: {}, bucket: {}, ", 1 + random() % 3, optimiser, bucket);
    const std::string codec = compression == "off" ? ""
                                                   : fmt::format(", compression: {}, codec: {}", compression,
                                                                 codec::flow(codec::example_codec(4, 10, 4)));
    keys += fmt::format("gradients: {{by: host, chunks: 1{0}}}, parameters: {{by: host, chunks: 1{0}}}", codec);
    SCOPED_TRACE(keys);
    const Ran beside = run(step(keys), system), after = run(step("overlap: false, " + keys), system);
    ASSERT_EQ(beside.errors, "");
    EXPECT_LE(beside.us, after.us * 1.001);
    EXPECT_EQ(beside.put_bytes, after.put_bytes);
    if (bucket == "1 GiB") {
      EXPECT_NEAR(beside.us, after.us, 1e-9 * after.us) << "the only bucket is complete when the backward pass ends";
    }
  }
}

TEST(DataParallelStep, EveryGradientAndParameterIsSentOnce) {
  for (const char* bucket : {"1 B", "300 KiB", "1 GiB"}) {
    const EquippedSystem system = example_equipped(1, 4);
    const double bytes = 2 * layer_parameters * 2;
    const auto keys = [&](const char* optimiser, const char* rest) {
      return step(fmt::format("layers: 2, optimiser: {}, bucket: {}, {}", optimiser, bucket, rest));
    };
    // An all-reduce around a ring of 4 ranks has two halves (reduce-scatter and all-gather). In each half, the ranks
    // together send 3 times the buffer. The broadcasts of all shares together send as much as one half.
    EXPECT_EQ(run(keys("plain", "gradients: {by: host}"), system).put_bytes, 6 * bytes);
    EXPECT_EQ(run(keys("sharded", by_host), system).put_bytes, 6 * bytes);
    EXPECT_EQ(
        run(keys("sharded", "gradients: {by: host}, parameters: {by: host, collective: broadcast}"), system).put_bytes,
        6 * bytes);
    EXPECT_EQ(
        run(keys("sharded", "gradients: {by: host, collective: all_reduce}, parameters: {by: host}"), system).put_bytes,
        9 * bytes);
  }
}

TEST(DataParallelStep, BucketsCloseWhenTheyAreFull) {
  const EquippedSystem system = example_equipped(1, 2);
  const auto note = [&](const char* bucket) {
    return run(step(fmt::format("layers: 2, gradients: {{by: host}}, bucket: {}", bucket)), system).notes.at(0);
  };
  EXPECT_THAT(note("1 B"), HasSubstr("in 8 buckets of up to 0.5243 MB"));
  // The first bucket has the first two matrices (2 x 524,288 B = 1 MiB). The second has the next two and the first two
  // of the next layer (1,441,792 B). The third has the two matrices that remain.
  EXPECT_THAT(note("1 MiB"), HasSubstr("in 3 buckets of up to 1.442 MB"));
  EXPECT_THAT(note("1 GiB"), HasSubstr("in 1 bucket of up to 2.884 MB"));
}

TEST(DataParallelStep, CodecsSayWhatTheyLose) {
  const EquippedSystem system = example_equipped(2, 2);
  const std::string codec = codec::flow(codec::example_codec(4));
  const Ran ran =
      run(step(fmt::format("optimiser: sharded, gradients: {{by: host, compression: every_hop, codec: {0}}}, "
                           "parameters: {{by: host, compression: root, codec: {0}}}",
                           codec)),
          system);
  ASSERT_EQ(ran.errors, "");
  EXPECT_THAT(ran.notes.at(0), HasSubstr("of gradients is coded up to 3 times"));
  EXPECT_THAT(ran.notes.at(0), HasSubstr("of parameters is coded up to 1 times, with an error of up to 0.001"));
}

TEST(DataParallelStep, WhatDoesNotGoTogetherIsRefused) {
  const auto refused = [](const std::string& keys, const EquippedSystem& system) {
    return run(step(keys), system).errors;
  };
  const EquippedSystem two = example_equipped(2);
  const std::string codec = "codec: " + codec::flow(codec::example_codec(2));
  EXPECT_THAT(refused("gradients: {by: host}", example_equipped(1)), HasSubstr("at least 2 ranks"));
  EXPECT_THAT(refused("layers: 1", two), HasSubstr("library"));
  EXPECT_THAT(refused("gradients: {streams: 2}", two), HasSubstr("write by: host"));
  EXPECT_THAT(refused("gradients: {by: host, compression: root}", two), HasSubstr("write codec:"));
  EXPECT_THAT(refused("gradients: {by: host, " + codec + "}", two), HasSubstr("although compression is off"));
  EXPECT_THAT(refused("gradients: {by: host, collective: reduce_scatter}", two), HasSubstr("write optimiser: sharded"));
  EXPECT_THAT(refused("optimiser: sharded, gradients: {by: host, compression: root, " + codec + "}", two),
              HasSubstr("cannot be compressed once"));
  EXPECT_THAT(refused("layers: 10000, gradients: {by: host}", two), HasSubstr("run fewer layers"));
  EXPECT_THAT(refused("bucket: 1 B, gradients: {by: host, chunks: 65536}", example_equipped(4)),
              HasSubstr("gradients of a bucket"));
  EXPECT_THAT(refused("layers: 1", two), HasSubstr("t.yaml:2:"));
}

}  // namespace
}  // namespace moire::transformer
