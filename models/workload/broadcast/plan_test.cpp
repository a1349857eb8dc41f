#include "models/workload/broadcast/plan.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <map>
#include <random>

namespace moire::broadcast {
namespace {

std::vector<Shape> shapes() {
  std::vector<Shape> all;
  std::mt19937 random(3);
  for (int i = 0; i < 200; ++i) {
    Shape shape;
    shape.gpus = static_cast<Rank>(1 + random() % 4);
    shape.ranks = shape.gpus * static_cast<Rank>((shape.gpus > 1 ? 1 : 2) + random() % 6);
    shape.root = static_cast<Rank>(random() % shape.ranks);
    shape.algorithm = static_cast<Algorithm>(random() % 3);
    shape.compression = static_cast<Compression>(random() % 3);
    shape.between_nodes = shape.compression == Compression::root && shape.algorithm == Algorithm::chain && i % 2 == 0;
    shape.chunks = 1 + static_cast<std::int64_t>(random() % 40);
    shape.bytes = shape.chunks + static_cast<std::int64_t>(random() % 100000);
    all.push_back(shape);
  }
  return all;
}

// Every rank but the root gets every chunk once, from a rank that lists it among its hops and got the chunk before.
TEST(Plan, EveryChunkComesToEveryRankOnce) {
  for (const Shape& shape : shapes()) {
    SCOPED_TRACE(fmt::format("{} ranks, {} a node, root {}, algorithm {}, {} chunks", shape.ranks, shape.gpus,
                             shape.root, static_cast<int>(shape.algorithm), shape.chunks));
    const Plan plan(shape);
    std::map<std::pair<Rank, std::int64_t>, std::pair<Rank, bool>> sent;  // (to, chunk): (from, compressed)
    std::map<std::pair<Rank, std::int64_t>, int> tasks;
    for (Rank rank = 0; rank < shape.ranks; ++rank) {
      for (std::int64_t turn = 0; turn < plan.turns(); ++turn) {
        const Task task = plan.task(rank, turn);
        if (task.chunk < 0) continue;
        ++tasks[{rank, task.chunk}];
        for (const Hop& hop : task.hops) {
          EXPECT_TRUE((sent.try_emplace({hop.to, task.chunk}, rank, hop.compressed).second));
          EXPECT_NE(hop.to, rank);
        }
      }
    }
    EXPECT_EQ(std::ssize(tasks), shape.ranks * shape.chunks);
    EXPECT_EQ(std::ssize(sent), (shape.ranks - 1) * shape.chunks);
    int most = 0;
    for (Rank rank = 0; rank < shape.ranks; ++rank) {
      for (std::int64_t turn = 0; turn < plan.turns(); ++turn) {
        const Task task = plan.task(rank, turn);
        if (task.chunk < 0) continue;
        EXPECT_EQ(task.from == program::no_rank, rank == shape.root);
        if (rank == shape.root) continue;
        EXPECT_EQ((sent.at({rank, task.chunk})), (std::pair{task.from, task.compressed}));
        // Follows the senders back to the root, without a cycle.
        int away = 0;
        for (Rank at = rank; at != shape.root; at = sent.at({at, task.chunk}).first) ASSERT_LT(++away, 100);
        if (shape.compression == Compression::every_hop) most = std::max(most, away);
        if (shape.compression == Compression::root && task.compressed) most = 1;
      }
    }
    EXPECT_EQ(plan.passes(), most);
  }
}

TEST(Plan, BytesAreAllThereAndEven) {
  for (const Shape& shape : shapes()) {
    const Plan plan(shape);
    std::int64_t sum = 0;
    for (std::int64_t chunk = 0; chunk < shape.chunks; ++chunk) {
      sum += plan.bytes(chunk);
      EXPECT_LE(plan.bytes(0) - plan.bytes(chunk), 1);
      EXPECT_GT(plan.bytes(chunk), 0);
    }
    EXPECT_EQ(sum, shape.bytes);
  }
}

// A chain leaves every node but the last once, wherever the root is.
TEST(Plan, AChainGoesNodeByNode) {
  for (const bool between : {false, true}) {
    Shape shape{.ranks = 12, .gpus = 4, .root = 6, .compression = Compression::root, .between_nodes = between};
    const Plan plan(shape);
    int leaves = 0;
    for (Rank rank = 0; rank < shape.ranks; ++rank) {
      for (const Hop& hop : plan.task(rank, 0).hops) {
        leaves += rank / 4 != hop.to / 4 ? 1 : 0;
        EXPECT_EQ(hop.compressed, !between || rank / 4 != hop.to / 4);
      }
    }
    EXPECT_EQ(leaves, 2);
  }
}

}  // namespace
}  // namespace moire::broadcast
