// States which rank forwards which chunk of a collective to which ranks, and whether the chunk is compressed. A plan
// contains no times and no hardware.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/program/program.hpp"

namespace moire::chunked {

using program::Rank;

enum class Collective { broadcast, all_gather, reduce_scatter, all_reduce };
// The algorithm of a broadcast; the other collectives are rings. chain: every rank forwards to the next one. binomial:
// a tree in which the root sends each chunk to log2(ranks) others, which forward it in their subtrees.
// scatter_all_gather: the root distributes the chunks over the other ranks, which then pass them around a ring.
enum class Algorithm { chain, binomial, scatter_all_gather };
// every_hop: each sender compresses and each receiver decompresses. root: only the rank at which a chunk begins (the
// root of a broadcast, the owner of a share) compresses; the others forward the compressed chunk and decompress a copy.
// Partial sums change at every hop, so with root each hop of a reduction compresses anew.
enum class Compression { off, every_hop, root };

struct Shape {
  Rank ranks = 2;
  Rank gpus = 1;  // per node
  Collective collective = Collective::broadcast;
  Rank root = 0;
  Algorithm algorithm = Algorithm::chain;
  Compression compression = Compression::off;
  // True if chunks are compressed between nodes only. The algorithm of a broadcast then runs over one GPU of each node.
  // Inside a node, the chunks follow a chain from this GPU, or a tree if the algorithm is binomial. Rings stay rings.
  bool between_nodes = false;
  std::int64_t bytes = 1;   // of a rank's input
  std::int64_t chunks = 1;  // number per buffer of a broadcast, or per share of each rank of a ring

  // Returns the number of ranks over which the algorithm of a broadcast runs.
  Rank members() const { return between_nodes ? ranks / gpus : ranks; }
};

struct Hop {
  Rank to = 0;
  bool compressed = false;
  bool partial = false;  // carries a partial sum
};

// What a rank does with one chunk.
struct Task {
  std::int64_t chunk = -1;       // -1: the rank does nothing in this turn
  Rank from = program::no_rank;  // no_rank: the chunk begins here
  bool compressed = false;       // true if the chunk arrives compressed
  bool partial = false;          // true if a partial sum arrives, to which the rank adds its own data
  std::vector<Hop> hops{};
};

class Plan {
 public:
  explicit Plan(const Shape& shape) : shape_(shape) {}
  const Shape& shape() const { return shape_; }

  // Returns the number of chunks of the buffer (broadcast) or of all shares together (rings). Ring collectives number
  // their chunks share by share. If a share has fewer bytes than chunks, some of its chunks are empty.
  std::int64_t chunks() const;
  std::int64_t turns() const;  // turns of a rank; the rank handles at most one chunk in each turn
  Task task(Rank rank, std::int64_t turn) const;
  std::int64_t bytes(std::int64_t chunk) const;  // size of a chunk; sizes in a share differ by at most one byte
  std::int64_t passes() const;                   // the largest number of times that one value is compressed

  // Each rank has a flag for every arrival of a chunk. In an all-reduce a chunk can arrive twice: first as a partial
  // sum, later as the complete sum.
  std::int64_t arrivals() const { return chunks() * (shape_.collective == Collective::all_reduce ? 2 : 1); }
  std::int64_t arrival(std::int64_t chunk, bool partial) const { return chunk + (partial ? arrivals() - chunks() : 0); }

 private:
  Rank rank_at(Rank place) const;
  Rank place_of(Rank rank) const;
  bool compressed(Rank from, Rank to) const;
  Task broadcast_task(Rank rank, std::int64_t turn) const;
  Task ring_task(Rank rank, std::int64_t turn) const;

  Shape shape_;
};

}  // namespace moire::chunked
