// The order in which each rank computes the tiles of a GEMM whose rows are divided into one block per rank.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/program/program.hpp"

namespace moire::tensor_parallel {

using program::Rank;

// The block of rows that a rank computes first. Within a node the others follow cyclically, and so do the nodes.
// own_first: rank r begins with block r, and in every other node with the block of the same index; own_last: its own
// node comes last, and in each node the block with its own index (the swizzle of Flux, arXiv 2406.06858, section 4);
// in_order: all begin with block 0. So rows of all-gathers are computed in the order in which they arrive, and parts
// for other nodes, whose sums have a longer way, come first.
enum class BlockOrder : std::uint8_t { own_first, own_last, in_order };

// Divides the m rows of a matrix among ranks. Block r has the rows from floor(r m / ranks) to floor((r + 1) m / ranks)
// - 1.
class RowBlocks {
 public:
  RowBlocks(std::int64_t m, Rank ranks) : m_(m), ranks_(ranks) {}
  std::int64_t first(Rank rank) const { return m_ * rank / ranks_; }
  std::int64_t rows(Rank rank) const { return first(rank + 1) - first(rank); }
  Rank ranks() const { return ranks_; }
  bool even() const { return m_ % ranks_ == 0; }
  Rank owner_of(std::int64_t row) const;

 private:
  std::int64_t m_;
  Rank ranks_;
};

// The rows of one rank within a row of tiles (a row of tiles may contain rows of several ranks).
struct Piece {
  Rank owner = 0;
  std::int64_t rows = 0;
  std::int64_t slot = 0;  // index among the rows of tiles that contain rows of the owner
};

class TileOrder {
 public:
  struct Sizes {
    std::int64_t m = 0;
    std::int64_t tile_m = 0;
    std::int64_t tile_rows = 0;  // rows of tiles; the last ones may lie beyond m
    std::int64_t columns = 0;    // columns of tiles
    Rank ranks = 1;
    Rank neighbours = 0;  // ranks of a node; 0: all
  };
  TileOrder(const Sizes& sizes, BlockOrder order);

  struct Tile {
    std::int64_t row = 0, column = 0;
  };
  std::int64_t tiles() const { return sizes_.tile_rows * sizes_.columns; }
  // Returns the mean number of rows of tiles per block of rows.
  double rows_of_block() const {
    const auto blocks = std::min<std::int64_t>(sizes_.ranks, sizes_.tile_rows);
    return static_cast<double>(sizes_.tile_rows) / static_cast<double>(blocks);
  }
  // Returns the tile that a rank computes after `number` other tiles. The order is node by node, block by block, and
  // column by column within a block. If the last row of tiles of a block extends into the next block, it comes after
  // all others of its block.
  Tile at(Rank rank, std::int64_t number) const;
  // Returns the number of the tile's panel. A panel is one column of tiles within a block of rows. The tiles of a panel
  // follow each other and need the same columns of B.
  std::uint32_t panel(const Tile& tile) const;
  const RowBlocks& blocks() const { return blocks_; }
  const Sizes& sizes() const { return sizes_; }

  // Returns the pieces of a row of tiles; none if the row of tiles lies beyond m.
  const std::vector<Piece>& pieces(std::int64_t row) const { return pieces_[static_cast<std::size_t>(row)]; }
  std::size_t most_pieces() const { return most_pieces_; }
  // The slots of a rank are the rows of tiles that contain rows of the rank. Returns the number of slots of a rank, the
  // largest number of slots of any rank, and the number of the rank's rows in one slot.
  std::int64_t slots(Rank owner) const { return slots_[owner]; }
  std::int64_t most_slots() const;
  std::int64_t slot_rows(Rank owner, std::int64_t slot) const;
  // True if the order stays the same when every rank r is replaced by rank r + d (modulo the number of ranks), for
  // every d. program::KernelBody::turns() needs this.
  bool turns() const;

 private:
  Sizes sizes_;
  BlockOrder order_;
  RowBlocks blocks_;
  std::vector<std::int64_t> begins_;  // for each block the first row of tiles that begins in it
  std::vector<std::vector<Piece>> pieces_;
  std::vector<std::int64_t> slots_;
  std::vector<std::int64_t> first_row_;  // for each rank its first row of tiles
  std::size_t most_pieces_ = 0;
};

}  // namespace moire::tensor_parallel
