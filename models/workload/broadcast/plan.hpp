// Who hands which chunk on to whom in a broadcast, and whether it travels compressed. No time, no hardware.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/program/program.hpp"

namespace moire::broadcast {

using program::Rank;

// chain: from rank to rank; binomial: who has a chunk sends it to half of those below it; scatter_all_gather: the root
// deals the chunks out, and they go round the others.
enum class Algorithm { chain, binomial, scatter_all_gather };
// every_hop: each sender compresses and each receiver decompresses. root: the root compresses, the others hand on what
// they got and decompress a copy.
enum class Compression { off, every_hop, root };

struct Shape {
  Rank ranks = 2;
  Rank gpus = 1;  // of a node
  Rank root = 0;
  Algorithm algorithm = Algorithm::chain;
  Compression compression = Compression::off;
  bool between_nodes = false;  // compressed between nodes only, by a chain of nodes and a chain in each
  std::int64_t bytes = 1;
  std::int64_t chunks = 1;
};

struct Hop {
  Rank to = 0;
  bool compressed = false;
};

// What a rank does with one chunk.
struct Task {
  std::int64_t chunk = -1;  // none: this turn has nothing for the rank
  Rank from = program::no_rank;
  bool compressed = false;  // as it comes
  std::vector<Hop> hops{};
};

class Plan {
 public:
  explicit Plan(const Shape& shape) : shape_(shape) {}
  const Shape& shape() const { return shape_; }

  std::int64_t turns() const;  // of every rank, a chunk each
  Task task(Rank rank, std::int64_t turn) const;
  std::int64_t bytes(std::int64_t chunk) const;  // as even as whole bytes can be
  std::int64_t passes() const;                   // most codings one after the other that a chunk goes through

 private:
  Rank rank_at(Rank place) const;
  Rank place_of(Rank rank) const;
  bool compressed(Rank from, Rank to) const;

  Shape shape_;
};

}  // namespace moire::broadcast
