#include "models/hardware/part/reach.hpp"

#include <gtest/gtest.h>

namespace moire::part {
namespace {

TEST(Reach, StoresGetToWhoIsWiredInTheSameNode) {
  const Reach wired(2, true);
  EXPECT_EQ(wired.node_of(3), 1u);
  EXPECT_EQ(wired.gpu_of(3), 1u);
  EXPECT_EQ(wired.peers(), 1u);
  EXPECT_TRUE(wired.stores(0, 1));
  EXPECT_FALSE(wired.stores(1, 2));
  EXPECT_TRUE(wired.stores(2, 2));
  const Reach apart(2, false);
  EXPECT_TRUE(apart.same_node(0, 1));
  EXPECT_EQ(apart.peers(), 0u);
  EXPECT_FALSE(apart.stores(0, 1));
  EXPECT_TRUE(apart.stores(1, 1));
}

}  // namespace
}  // namespace moire::part
