// The tiles of a matrix product whose rows belong to ranks, a block of them each, in the order in which a rank takes
// them.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/program/program.hpp"

namespace moire::tensor_parallel {

using program::Rank;

// Which block of rows comes first; the others follow in the order of the matrix and round. own_first, own_last: every
// rank r begins elsewhere, with block r or r + 1 (the swizzle of Flux, arXiv 2406.06858, section 4); in_order: all of
// them begin with block 0.
enum class BlockOrder : std::uint8_t { own_first, own_last, in_order };

// The m rows of a matrix over ranks: block r is [r m / ranks, (r + 1) m / ranks), whole rows.
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

// What a row of tiles has of one rank's rows.
struct Piece {
  Rank owner = 0;
  std::int64_t rows = 0;
  std::int64_t slot = 0;  // of the rows of tiles that have some of the owner's, in their order
};

class TileOrder {
 public:
  struct Sizes {
    std::int64_t m = 0;
    std::int64_t tile_m = 0;
    std::int64_t tile_rows = 0;  // some may lie beyond m
    std::int64_t columns = 0;    // of tiles
    Rank ranks = 1;
  };
  TileOrder(const Sizes& sizes, BlockOrder order);

  struct Tile {
    std::int64_t row = 0, column = 0;
  };
  std::int64_t tiles() const { return sizes_.tile_rows * sizes_.columns; }
  // Block by block, down the rows of a block and then on to the next column; a row of tiles that reaches into the next
  // block comes after the others of its block.
  Tile at(Rank rank, std::int64_t number) const;
  const RowBlocks& blocks() const { return blocks_; }
  const Sizes& sizes() const { return sizes_; }

  // Those of a row of tiles; none where it lies beyond m.
  const std::vector<Piece>& pieces(std::int64_t row) const { return pieces_[static_cast<std::size_t>(row)]; }
  std::size_t most_pieces() const { return most_pieces_; }
  // Rows of tiles that have some of a rank's rows: how many, and the pieces of one.
  std::int64_t slots(Rank owner) const { return slots_[owner]; }
  std::int64_t most_slots() const;
  std::int64_t slot_rows(Rank owner, std::int64_t slot) const;
  // Does every rank do what the one before it does, with all ranks one on?
  bool turns() const;

 private:
  Sizes sizes_;
  BlockOrder order_;
  RowBlocks blocks_;
  std::vector<std::int64_t> begins_;  // of each block: the first row of tiles that begins in it
  std::vector<std::vector<Piece>> pieces_;
  std::vector<std::int64_t> slots_;
  std::vector<std::int64_t> first_row_;  // of tiles, of each rank
  std::size_t most_pieces_ = 0;
};

}  // namespace moire::tensor_parallel
