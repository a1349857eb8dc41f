// The order in which a GPU's workgroups compute the tiles of C; host and device share this code.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>

constexpr int kTileRows = 128, kTileColumns = 256, kTileDepth = 64;
// rows of tiles in a panel: the 132 workgroups of an H200 then work on about 16 x 8 tiles, which share most of their
// loads
constexpr int kPanelRows = 16;

struct TileAt {
  int row, column;  // in tiles
};

// The rows form one segment per rank, in cyclic order beginning at row `first`. A segment is cut into panels of
// kPanelRows rows of tiles. Within a panel the order goes down each column of tiles, so that workgroups that run at the
// same time load the same rows of A and columns of B.
struct TileOrder {
  int rows = 0, columns = 0;  // of tiles
  int segment_rows = 0;       // of tiles
  int first = 0;              // the row of tiles that comes first

  __host__ __device__ int tiles() const { return rows * columns; }
  __host__ __device__ TileAt at(int number) const {
    const int segment = number / (segment_rows * columns);
    const TileAt in = in_segment(number - segment * segment_rows * columns, segment_rows, columns);
    int row = segment * segment_rows + in.row + first;
    if (row >= rows) row -= rows;
    return {row, in.column};
  }
  static __host__ __device__ TileAt in_segment(int number, int rows, int columns) {
    const int panel = number / (kPanelRows * columns), rest = number - panel * kPanelRows * columns;
    const int left = rows - panel * kPanelRows, height = left < kPanelRows ? left : kPanelRows;
    return {panel * kPanelRows + rest % height, rest / height};
  }
};

// Returns the order for `m` rows, of which each of `ranks` GPUs owns a block. The rows of rank `begin_at` come first.
// If a block is not a whole number of tiles, all rows form one segment.
inline TileOrder tile_order(int m, int n, int ranks, int begin_at) {
  TileOrder order;
  const int block = m / ranks;
  order.rows = (m + kTileRows - 1) / kTileRows;
  order.columns = n / kTileColumns;
  order.segment_rows = block % kTileRows == 0 ? block / kTileRows : order.rows;
  order.first = std::min(begin_at * block / kTileRows, order.rows - 1);
  return order;
}
