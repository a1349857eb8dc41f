#include "models/hardware/machine/reach.hpp"

#include <gtest/gtest.h>

namespace moire::machine {
namespace {

TEST(Reach, StoresGetToWhoIsWiredInTheSameNode) {
  NodeSpec node;
  node.gpus = 2;
  node.wiring = link::Wiring::nvswitch;
  const Reach wired(node);
  EXPECT_EQ(wired.node_of(3), 1u);
  EXPECT_EQ(wired.gpu_of(3), 1u);
  EXPECT_EQ(wired.peers(), 1u);
  EXPECT_TRUE(wired.stores(0, 1));
  EXPECT_FALSE(wired.stores(1, 2));
  EXPECT_TRUE(wired.stores(2, 2));
  node.wiring = link::Wiring::none;
  const Reach apart(node);
  EXPECT_TRUE(apart.same_node(0, 1));
  EXPECT_EQ(apart.peers(), 0u);
  EXPECT_FALSE(apart.stores(0, 1));
  EXPECT_TRUE(apart.stores(1, 1));
}

}  // namespace
}  // namespace moire::machine
