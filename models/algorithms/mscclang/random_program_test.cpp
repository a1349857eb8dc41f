// Compiles random programs with every kind of replication. The thread blocks must compute what the operations of the
// program compute one after the other, without races.
#include "tests/support/random_program.hpp"

#include <gtest/gtest.h>

#include <random>

#include "models/algorithms/msccl/check.hpp"

namespace moire::mscclang {
namespace {

TEST(RandomPrograms, ComputeWhatTheirOperationsSay) {
  std::size_t fused = 0;
  std::size_t nops = 0;
  std::size_t codings = 0;
  for (std::uint32_t seed = 0; seed < 3000; ++seed) {
    std::mt19937 numbers(seed);
    testing::RandomProgram random([&](std::uint32_t n) { return static_cast<std::uint32_t>(numbers() % n); });
    const msccl::Algorithm algorithm = compile(random.program());
    ASSERT_EQ(testing::compare(random.program(), algorithm), "") << "seed " << seed;
    ASSERT_TRUE(msccl::check(algorithm).coded_right()) << "seed " << seed;
    for (const auto& gpu : algorithm.gpus) {
      for (const auto& block : gpu.blocks) {
        for (const auto& step : block.steps) {
          const ir::Effect effect = ir::effect(step.type);
          fused += effect.receives && effect.sends ? 1 : 0;
          nops += step.type == ir::Op::none ? 1 : 0;
          codings += is_coding(step.type) ? 1 : 0;
        }
      }
    }
  }
  EXPECT_GT(fused, 1000U);  // otherwise too few programs test fusion
  EXPECT_GT(nops, 1000U);
  EXPECT_GT(codings, 1000U);
}

}  // namespace
}  // namespace moire::mscclang
