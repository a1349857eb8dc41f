#include "models/workload/tensor_parallel/tile_order.hpp"

#include <gmock/gmock.h>

#include <random>
#include <set>

namespace moire::tensor_parallel {
namespace {

using ::testing::ElementsAre;

TEST(TileOrder, EveryRankTakesEveryTileOnce) {
  std::mt19937 random(5);
  for (int i = 0; i < 200; ++i) {
    const auto neighbours = static_cast<Rank>(1 + random() % 5),
               ranks = static_cast<Rank>(1 + random() % 3) * neighbours;
    const std::int64_t m = 1 + random() % 3000, tile = 1 + random() % 300;
    const TileOrder::Sizes sizes{m,
                                 tile,
                                 (m + tile - 1) / tile + static_cast<std::int64_t>(random() % 2),
                                 1 + static_cast<std::int64_t>(random() % 5),
                                 ranks,
                                 neighbours};
    for (const BlockOrder order : {BlockOrder::own_first, BlockOrder::own_last, BlockOrder::in_order}) {
      const TileOrder tiles(sizes, order);
      for (Rank rank = 0; rank < ranks; ++rank) {
        std::set<std::pair<std::int64_t, std::int64_t>> seen;
        for (std::int64_t n = 0; n < tiles.tiles(); ++n) {
          const TileOrder::Tile one = tiles.at(rank, n);
          EXPECT_LT(one.row, sizes.tile_rows);
          EXPECT_LT(one.column, sizes.columns);
          seen.insert({one.row, one.column});
        }
        EXPECT_EQ(static_cast<std::int64_t>(seen.size()), tiles.tiles());
      }
    }
  }
}

TEST(TileOrder, OtherNodesComeLastOrFirst) {
  const auto rows = [](BlockOrder order) {
    const TileOrder tiles({6, 1, 6, 1, 6, 3}, order);
    std::vector<std::int64_t> all;
    for (std::int64_t number = 0; number < 6; ++number) all.push_back(tiles.at(1, number).row);
    return all;
  };
  EXPECT_THAT(rows(BlockOrder::own_first), ElementsAre(1, 2, 0, 4, 5, 3));
  EXPECT_THAT(rows(BlockOrder::own_last), ElementsAre(5, 3, 4, 2, 0, 1));
  EXPECT_THAT(rows(BlockOrder::in_order), ElementsAre(0, 1, 2, 3, 4, 5));
}

// The tiles of one column within a block of rows form one panel, whichever rank computes them.
TEST(TileOrder, PanelsAreColumnsOfBlocks) {
  const TileOrder tiles({512, 128, 4, 3, 2}, BlockOrder::own_first);
  EXPECT_EQ(tiles.rows_of_block(), 2);
  for (const Rank rank : {0, 1}) {
    for (std::int64_t n = 0; n < tiles.tiles(); ++n) {
      const TileOrder::Tile one = tiles.at(rank, n);
      EXPECT_EQ(tiles.panel(one), one.row / 2 * 3 + one.column);
      // The two tiles that a block has in one column follow each other.
      EXPECT_EQ(tiles.panel(one), tiles.panel(tiles.at(rank, n / 2 * 2)));
    }
  }
}

TEST(TileOrder, PiecesAreTheRowsOfEveryRank) {
  std::mt19937 random(7);
  for (int i = 0; i < 200; ++i) {
    const auto ranks = static_cast<Rank>(1 + random() % 20);
    const std::int64_t m = 1 + random() % 500, tile = 1 + random() % 200;
    const TileOrder tiles({m, tile, (m + tile - 1) / tile, 1, ranks}, BlockOrder::own_first);
    std::map<Rank, std::int64_t> rows;
    for (std::int64_t row = 0; row < tiles.sizes().tile_rows; ++row) {
      for (const Piece& piece : tiles.pieces(row)) {
        rows[piece.owner] += piece.rows;
        EXPECT_EQ(tiles.slot_rows(piece.owner, piece.slot), piece.rows);
        EXPECT_LT(piece.slot, tiles.slots(piece.owner));
      }
    }
    for (Rank rank = 0; rank < ranks; ++rank) EXPECT_EQ(rows[rank], tiles.blocks().rows(rank));
  }
}

TEST(TileOrder, RanksBeginWithTheirOwnRowsOrTheNext) {
  const TileOrder::Sizes sizes{1024, 128, 8, 3, 4};
  EXPECT_EQ(TileOrder(sizes, BlockOrder::own_first).at(2, 0).row, 4);
  EXPECT_EQ(TileOrder(sizes, BlockOrder::own_last).at(2, 0).row, 6);
  EXPECT_EQ(TileOrder(sizes, BlockOrder::own_last).at(3, 0).row, 0);
  EXPECT_EQ(TileOrder(sizes, BlockOrder::in_order).at(2, 0).row, 0);
  EXPECT_TRUE(TileOrder(sizes, BlockOrder::own_last).turns());
  EXPECT_FALSE(TileOrder(sizes, BlockOrder::in_order).turns());
}

}  // namespace
}  // namespace moire::tensor_parallel
