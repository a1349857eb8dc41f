// How much of an access pattern the caches of a GPU serve.
#pragma once

#include <cstdint>
#include <optional>

#include "models/hardware/memory/spec.hpp"

namespace moire::memory {

// HBM time per byte of a random row, in bytes: whole access granules plus the cost of opening the row.
double row_overfetch(const HbmSpec& hbm, Bytes row);

// How long the caches hold a line that nobody uses again while memory fills them at its whole bandwidth.
Time residence(const CacheSpec& l2, const std::optional<CacheSpec>& memory_side, BytesPerSecond memory);

// Steady-state hit ratio of uniformly random accesses over `footprint` bytes: the share that fits into the caches.
double uniform_hit_ratio(const CacheSpec& l2, const std::optional<CacheSpec>& memory_side, Bytes footprint);

// Share of a kernel's stored bytes that are written to memory before the kernel ends. The cache keeps the bytes that
// passed through it last, so dirty bytes among them remain and nobody waits for them. `stored`: bytes that the kernel
// stores; `loaded`: bytes that it loads from memory.
double written_back(const CacheSpec& l2, const std::optional<CacheSpec>& memory_side, Bytes stored, Bytes loaded);

// Rows of tables, read independently by a kernel that walks from table to table.
struct TableReads {
  std::int64_t tables = 1;
  std::int64_t rows = 1;  // per table
  Bytes row_bytes;
  std::int64_t passes = 1;          // how often the kernel walks through all tables
  std::int64_t reads_per_pass = 1;  // per table
  double zipf_exponent = 0;         // the k-th most popular row is read in proportion to 1 / k^exponent
  double tables_at_once = 1;        // number of tables that the resident workgroups read at the same time
};

// Share of the reads that hit in an initially empty LRU cache, by Che's approximation: a row stays in the cache for as
// many reads as it takes to touch as many different rows as the cache holds.
double table_hit_ratio(const CacheSpec& l2, const std::optional<CacheSpec>& memory_side, const TableReads& reads);

// L2 bandwidth that reads of the most popular rows take in addition to their bytes, per byte read. If several tables
// are read at the same time, each has a most popular row, and these rows lie in different slices of the cache.
double popular_extra(const CacheSpec& l2, const TableReads& reads);

}  // namespace moire::memory
