// Which rank forwards which chunk of a broadcast to which ranks, and whether it is compressed. No time, no hardware.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/program/program.hpp"

namespace moire::broadcast {

using program::Rank;

// chain: every rank forwards to the next one. binomial: a tree in which the root sends each chunk to log2(ranks)
// others, which forward it in their subtrees. scatter_all_gather: the root distributes the chunks over the others,
// among which they then go around a ring.
enum class Algorithm { chain, binomial, scatter_all_gather };
// every_hop: each sender compresses and each receiver decompresses. root: only the root compresses; the others forward
// the compressed chunk and decompress a copy.
enum class Compression { off, every_hop, root };

struct Shape {
  Rank ranks = 2;
  Rank gpus = 1;  // per node
  Rank root = 0;
  Algorithm algorithm = Algorithm::chain;
  Compression compression = Compression::off;
  bool between_nodes = false;  // compressed between nodes only: a chain over nodes, and one within each node
  std::int64_t bytes = 1;
  std::int64_t chunks = 1;
};

struct Hop {
  Rank to = 0;
  bool compressed = false;
};

// What a rank does with one chunk.
struct Task {
  std::int64_t chunk = -1;       // -1: the rank does nothing in this turn
  Rank from = program::no_rank;  // the root has no_rank
  bool compressed = false;       // whether it arrives compressed
  std::vector<Hop> hops{};
};

class Plan {
 public:
  explicit Plan(const Shape& shape) : shape_(shape) {}
  const Shape& shape() const { return shape_; }

  std::int64_t turns() const;  // per rank; a turn handles one chunk
  Task task(Rank rank, std::int64_t turn) const;
  std::int64_t bytes(std::int64_t chunk) const;  // sizes differ by at most one byte
  std::int64_t passes() const;                   // most times that a chunk is compressed in succession

 private:
  Rank rank_at(Rank place) const;
  Rank place_of(Rank rank) const;
  bool compressed(Rank from, Rank to) const;

  Shape shape_;
};

}  // namespace moire::broadcast
