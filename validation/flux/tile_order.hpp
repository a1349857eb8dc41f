// The order in which a GPU's workgroups compute the tiles of C; host and device share this code.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>

constexpr int kTileRows = 128, kTileColumns = 256, kTileDepth = 64;
// rows of tiles in a panel: 132 workgroups work on about 16 x 8 tiles, which share most of their loads
constexpr int kPanelRows = 16;

struct TileAt {
  int row, column;  // in tiles
};

// The rows form one segment per rank, in cyclic order from `first` on. A segment is cut into panels of kPanelRows rows
// of tiles, and within a panel the tiles of a column follow each other, so that workgroups that run at the same time
// load the same rows and columns.
struct TileOrder {
  int rows = 0, columns = 0;  // of tiles
  int segment_rows = 0;       // of tiles
  int first = 0;              // row of tiles

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

// The order for `m` rows that `ranks` GPUs own in blocks; the rows of rank `begin_at` come first. If blocks are not
// whole tiles, all rows form one segment.
inline TileOrder tile_order(int m, int n, int ranks, int begin_at) {
  TileOrder order;
  const int block = m / ranks;
  order.rows = (m + kTileRows - 1) / kTileRows;
  order.columns = n / kTileColumns;
  order.segment_rows = block % kTileRows == 0 ? block / kTileRows : order.rows;
  order.first = std::min(begin_at * block / kTileRows, order.rows - 1);
  return order;
}
