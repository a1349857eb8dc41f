#include "models/workload/tensor_parallel/tile_order.hpp"

#include <algorithm>

namespace moire::tensor_parallel {

Rank RowBlocks::owner_of(std::int64_t row) const {
  auto owner = static_cast<Rank>(row * ranks_ / m_);
  while (first(owner + 1) <= row) ++owner;
  while (first(owner) > row) --owner;
  return owner;
}

TileOrder::TileOrder(const Sizes& sizes, BlockOrder order)
    : sizes_(sizes),
      order_(order),
      blocks_(sizes.m, sizes.ranks),
      pieces_(static_cast<std::size_t>(sizes.tile_rows)),
      slots_(sizes.ranks),
      first_row_(sizes.ranks) {
  if (sizes_.neighbours == 0) sizes_.neighbours = sizes.ranks;
  const std::int64_t tile = sizes.tile_m;
  for (Rank rank = 0; rank < sizes.ranks; ++rank) begins_.push_back((blocks_.first(rank) + tile - 1) / tile);
  begins_.push_back(sizes.tile_rows);
  for (std::int64_t row = 0; row < sizes.tile_rows && row * tile < sizes.m; ++row) {
    const std::int64_t end = std::min(sizes.m, (row + 1) * tile);
    for (std::int64_t at = row * tile; at < end;) {
      const Rank owner = blocks_.owner_of(at);
      const std::int64_t next = std::min(end, blocks_.first(owner + 1));
      if (slots_[owner]++ == 0) first_row_[owner] = row;
      pieces_[static_cast<std::size_t>(row)].push_back({owner, next - at, row - first_row_[owner]});
      at = next;
    }
    most_pieces_ = std::max(most_pieces_, pieces_[static_cast<std::size_t>(row)].size());
  }
}

std::int64_t TileOrder::most_slots() const { return *std::max_element(slots_.begin(), slots_.end()); }

std::int64_t TileOrder::slot_rows(Rank owner, std::int64_t slot) const {
  const auto& all = pieces(first_row_[owner] + slot);
  return std::find_if(all.begin(), all.end(), [owner](const Piece& piece) { return piece.owner == owner; })->rows;
}

TileOrder::Tile TileOrder::at(Rank rank, std::int64_t number) const {
  const Rank each = sizes_.neighbours, nodes = sizes_.ranks / each;
  const Rank later = order_ == BlockOrder::own_last ? 1 : 0;
  Rank node = order_ == BlockOrder::in_order ? 0 : (rank / each + later) % nodes;
  const auto first_tile = [this](Rank block) { return begins_[block] * sizes_.columns; };
  const auto tiles_of = [&](Rank one) { return first_tile((one + 1) * each) - first_tile(one * each); };
  for (; number >= tiles_of(node); node = (node + 1) % nodes) number -= tiles_of(node);
  // The blocks of a node follow each other cyclically, beginning with the block `start`.
  const Rank start = order_ == BlockOrder::in_order ? 0 : (rank + later) % each;
  const std::int64_t in_node = number + first_tile(node * each + start) - first_tile(node * each);
  const std::int64_t place = first_tile(node * each) + in_node % tiles_of(node);
  const auto after = std::upper_bound(begins_.begin(), begins_.end() - 1, place / sizes_.columns);
  const auto block = static_cast<std::size_t>(after - begins_.begin() - 1);
  const std::int64_t within = place - begins_[block] * sizes_.columns;
  const std::int64_t rows = begins_[block + 1] - begins_[block];
  // The last row of tiles of a block may extend into the next block, whose rows are needed later. So this row of tiles
  // comes last in its block.
  const std::int64_t whole =
      rows - (rows > 1 && begins_[block + 1] * sizes_.tile_m > blocks_.first(static_cast<Rank>(block) + 1) ? 1 : 0);
  const std::int64_t beyond = within - whole * sizes_.columns;
  if (beyond >= 0) return {begins_[block] + whole + beyond / sizes_.columns, beyond % sizes_.columns};
  return {begins_[block] + within % whole, within / whole};
}

std::uint32_t TileOrder::panel(const Tile& tile) const {
  const auto after = std::upper_bound(begins_.begin(), begins_.end() - 1, tile.row);
  return static_cast<std::uint32_t>((after - begins_.begin() - 1) * sizes_.columns + tile.column);
}

bool TileOrder::turns() const {
  return order_ != BlockOrder::in_order && blocks_.even() && blocks_.rows(0) % sizes_.tile_m == 0 &&
         sizes_.tile_rows * sizes_.tile_m == sizes_.m;
}

}  // namespace moire::tensor_parallel
