#include "sim/core/circle.hpp"

#include <gtest/gtest.h>

#include <set>

namespace moire::core {
namespace {

TEST(Circle, OneBlockIsAdditionModuloAll) {
  const Circle circle({12});
  for (std::uint32_t at = 0; at < 12; ++at) {
    for (std::uint32_t by = 0; by < 12; ++by) {
      EXPECT_EQ(circle.plus(at, by), (at + by) % 12);
      EXPECT_EQ(circle.minus(at, by), (at + 12 - by) % 12);
    }
  }
}

// 24 numbers in blocks of 12, these in blocks of 4: 7 is place 3 of block 1 of block 0, and 21 place 1 of block 2 of
// block 1.
TEST(Circle, EveryBlockTurnsInTheNextLargerOne) {
  const Circle circle({4, 12, 24});
  EXPECT_EQ(circle.plus(7, 21), 0 + 0 * 4 + 1 * 12) << "3 + 1 of 4, 1 + 2 of 3, 0 + 1 of 2";
  EXPECT_EQ(circle.minus(7, 21), 2 + 2 * 4 + 1 * 12);
  for (std::uint32_t by = 0; by < 24; ++by) {
    std::set<std::uint32_t> reached;
    for (std::uint32_t at = 0; at < 24; ++at) {
      EXPECT_EQ(circle.minus(circle.plus(at, by), by), at);
      EXPECT_EQ(circle.plus(at, by), circle.plus(by, at));
      reached.insert(circle.plus(at, by));
    }
    EXPECT_EQ(reached.size(), 24U);
  }
}

TEST(Circle, LargestNumbersDoNotOverflow) {
  const Circle circle({UINT32_MAX});
  EXPECT_EQ(circle.plus(UINT32_MAX - 1, UINT32_MAX - 1), UINT32_MAX - 2);
  EXPECT_EQ(circle.minus(0, 1), UINT32_MAX - 1);
}

TEST(Circle, ScalesAllBlocks) {
  const Circle half = Circle({4, 12, 24}).scaled(12);
  EXPECT_EQ(half.plus(3, 11), Circle({2, 6, 12}).plus(3, 11));
}

}  // namespace
}  // namespace moire::core
