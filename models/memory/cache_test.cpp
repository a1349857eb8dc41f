#include "models/memory/cache.hpp"

#include <gtest/gtest.h>

namespace moire::models::memory {
namespace {

CacheSpec cache(double bytes) { return {.capacity = {bytes}, .bandwidth = {1e12}, .hit_latency = Time::from_ns(100)}; }

TEST(UniformHitRatio, IsTheShareThatFits) {
  EXPECT_DOUBLE_EQ(uniform_hit_ratio(cache(8e6), std::nullopt, Bytes{32e6}), 0.25);
  EXPECT_DOUBLE_EQ(uniform_hit_ratio(cache(8e6), std::nullopt, Bytes{8e9}), 0.001);
}

TEST(UniformHitRatio, IsOneForWhatFitsWhole) {
  EXPECT_DOUBLE_EQ(uniform_hit_ratio(cache(8e6), std::nullopt, Bytes{8e6}), 1);
  EXPECT_DOUBLE_EQ(uniform_hit_ratio(cache(8e6), std::nullopt, Bytes{1}), 1);
}

TEST(UniformHitRatio, AMemorySideCacheHoldsWhatL2Holds) {
  EXPECT_DOUBLE_EQ(uniform_hit_ratio(cache(4e6), cache(256e6), Bytes{512e6}), 0.5) << "not (4 + 256) / 512";
  EXPECT_DOUBLE_EQ(uniform_hit_ratio(cache(4e6), cache(2e6), Bytes{16e6}), 0.25) << "a smaller one adds nothing";
}

}  // namespace
}  // namespace moire::models::memory
