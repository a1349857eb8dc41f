#include "models/workload/chunked/plan.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <map>
#include <random>

namespace moire::chunked {
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
    shape.between_nodes = shape.compression != Compression::off && i % 2 == 0;
    shape.chunks = 1 + static_cast<std::int64_t>(random() % 40);
    shape.bytes = shape.chunks + static_cast<std::int64_t>(random() % 100000);
    all.push_back(shape);
  }
  return all;
}

// Every rank except the root receives every chunk once, from a rank that has received the chunk before and lists this
// rank among its hops.
TEST(Plan, EveryChunkComesToEveryRankOnce) {
  for (const Shape& shape : shapes()) {
    SCOPED_TRACE(fmt::format("{} ranks, {} a node, root {}, algorithm {}, {} chunks, compression {}{}", shape.ranks,
                             shape.gpus, shape.root, static_cast<int>(shape.algorithm), shape.chunks,
                             static_cast<int>(shape.compression), shape.between_nodes ? " between nodes" : ""));
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
        int away = 0, coded = 0;
        for (Rank at = rank; at != shape.root; at = sent.at({at, task.chunk}).first) {
          ASSERT_LT(++away, 100);
          coded += sent.at({at, task.chunk}).second ? 1 : 0;
        }
        if (shape.compression == Compression::every_hop) most = std::max(most, coded);
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

// Each chunk enters each node other than the root's once, along a chain as well as with compression between nodes only.
TEST(Plan, ChunksEnterEveryNodeOnce) {
  for (const Algorithm algorithm : {Algorithm::chain, Algorithm::binomial, Algorithm::scatter_all_gather}) {
    for (const bool between : {false, true}) {
      if (!between && algorithm != Algorithm::chain) continue;
      const Shape shape{.ranks = 15,
                        .gpus = 3,
                        .root = 7,
                        .algorithm = algorithm,
                        .compression = Compression::root,
                        .between_nodes = between,
                        .bytes = 8,
                        .chunks = 8};
      const Plan plan(shape);
      std::map<std::pair<std::int64_t, Rank>, int> entered;  // by chunk and node
      for (Rank rank = 0; rank < shape.ranks; ++rank) {
        for (std::int64_t turn = 0; turn < plan.turns(); ++turn) {
          const Task task = plan.task(rank, turn);
          for (const Hop& hop : task.hops) {
            const bool leaves = rank / 3 != hop.to / 3;
            EXPECT_EQ(hop.compressed, !between || leaves);
            if (leaves) ++entered[{task.chunk, hop.to / 3}];
          }
        }
      }
      EXPECT_EQ(entered.size(), 8 * 4);
      for (const auto& [where, times] : entered) EXPECT_EQ(times, 1);
    }
  }
}

// --- Ring collectives

std::vector<Shape> rings() {
  std::vector<Shape> all;
  std::mt19937 random(5);
  for (int i = 0; i < 300; ++i) {
    Shape shape;
    shape.gpus = static_cast<Rank>(1 + random() % 4);
    shape.ranks = shape.gpus * static_cast<Rank>((shape.gpus > 1 ? 1 : 2) + random() % 5);
    shape.collective = static_cast<Collective>(1 + random() % 3);
    const bool sums_only = shape.collective == Collective::reduce_scatter;
    shape.compression = static_cast<Compression>(random() % (sums_only ? 2 : 3));
    shape.between_nodes = shape.compression == Compression::every_hop && i % 2 == 0;
    shape.chunks = 1 + static_cast<std::int64_t>(random() % 6);
    shape.bytes = 1 + static_cast<std::int64_t>(random() % (i % 3 == 0 ? 20 : 100000));
    all.push_back(shape);
  }
  return all;
}

// The state of a chunk on a rank: how often the chunk contains each rank's contribution, and how often its values were
// compressed.
struct Value {
  std::map<Rank, int> of;
  std::int64_t coded = 0;
};

// Runs a plan on symbols instead of data. A task continues when its inputs have arrived, and no chunk may arrive twice.
class Symbols {
 public:
  explicit Symbols(const Shape& shape) : shape_(shape), plan_(shape) {}

  // Returns false if ranks wait for each other.
  bool run() {
    std::vector<std::int64_t> turn(shape_.ranks);
    for (bool moves = true; moves;) {
      moves = false;
      for (Rank rank = 0; rank < shape_.ranks; ++rank)
        for (; turn[rank] < plan_.turns() && step(rank, plan_.task(rank, turn[rank])); ++turn[rank]) moves = true;
    }
    return std::all_of(turn.begin(), turn.end(), [&](std::int64_t done) { return done == plan_.turns(); }) &&
           mail_.empty();
  }

  std::map<std::pair<Rank, std::int64_t>, Value> kept;  // by rank and chunk, after the last step of the reduction
  std::map<std::pair<Rank, Rank>, std::int64_t> sent;   // bytes

 private:
  bool step(Rank rank, const Task& task) {
    if (task.chunk < 0) return true;
    Value value;
    if (task.from != program::no_rank) {
      const auto at = mail_.find({rank, plan_.arrival(task.chunk, task.partial)});
      if (at == mail_.end()) return false;
      EXPECT_EQ(at->second.first, task.from);
      value = at->second.second;
      mail_.erase(at);
    }
    if (task.from == program::no_rank || task.partial) ++value.of[rank];
    const bool partial = !task.hops.empty() && task.hops.front().partial;
    const bool begins = task.from == program::no_rank || task.partial;
    if (!partial) {
      EXPECT_TRUE(kept.try_emplace({rank, task.chunk}, value).second) << "a chunk arrives only once";
    }
    for (const Hop& hop : task.hops) {
      Value out = value;
      // A compressed chunk that is forwarded unchanged is not compressed again.
      if (hop.compressed && (begins || shape_.compression == Compression::every_hop)) ++out.coded;
      EXPECT_TRUE(mail_.try_emplace({hop.to, plan_.arrival(task.chunk, hop.partial)}, rank, out).second);
      sent[{rank, hop.to}] += plan_.bytes(task.chunk);
    }
    return true;
  }

  Shape shape_;
  Plan plan_;
  std::map<std::pair<Rank, std::int64_t>, std::pair<Rank, Value>> mail_;  // by receiver and arrival
};

TEST(RingPlan, EveryRankEndsWithEveryContributionOnce) {
  for (const Shape& shape : rings()) {
    SCOPED_TRACE(fmt::format("collective {}, {} ranks, {} a node, compression {}, between nodes {}, {} B in {} chunks",
                             static_cast<int>(shape.collective), shape.ranks, shape.gpus,
                             static_cast<int>(shape.compression), shape.between_nodes, shape.bytes, shape.chunks));
    const Plan plan(shape);
    Symbols symbols(shape);
    ASSERT_TRUE(symbols.run());
    std::int64_t coded = 0, bytes = 0;
    for (Rank rank = 0; rank < shape.ranks; ++rank) {
      for (std::int64_t chunk = 0; chunk < plan.chunks(); ++chunk) {
        const auto owner = static_cast<Rank>(chunk / shape.chunks);
        const auto at = symbols.kept.find({rank, chunk});
        const bool wanted = plan.bytes(chunk) > 0 && (shape.collective != Collective::reduce_scatter || rank == owner);
        ASSERT_EQ(at != symbols.kept.end(), wanted) << "rank " << rank << ", chunk " << chunk;
        if (!wanted) continue;
        coded = std::max(coded, at->second.coded);
        if (rank == owner) bytes += plan.bytes(chunk);
        std::map<Rank, int> all;
        if (shape.collective == Collective::all_gather)
          all[owner] = 1;
        else
          for (Rank each = 0; each < shape.ranks; ++each) all[each] = 1;
        EXPECT_EQ(at->second.of, all);
      }
    }
    EXPECT_EQ(bytes, shape.bytes * (shape.collective == Collective::all_gather ? shape.ranks : 1));
    // Empty shares are not compressed, so a buffer with fewer bytes than ranks may be compressed fewer times.
    if (shape.collective == Collective::all_gather || shape.bytes >= shape.ranks)
      EXPECT_EQ(plan.passes(), coded);
    else
      EXPECT_GE(plan.passes(), coded);
    // Each rank sends to the next one only, and the total is that of a ring collective.
    std::int64_t sent = 0;
    for (const auto& [pair, each] : symbols.sent) {
      EXPECT_EQ(pair.second, (pair.first + 1) % shape.ranks);
      sent += each;
    }
    EXPECT_EQ(sent, bytes * (shape.ranks - 1) * (shape.collective == Collective::all_reduce ? 2 : 1));
  }
}

}  // namespace
}  // namespace moire::chunked
