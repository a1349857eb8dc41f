// Computes how much of an access pattern the caches of a GPU serve.
#pragma once

#include <cstdint>
#include <optional>

#include "models/hardware/memory/spec.hpp"

namespace moire::memory {

// HBM bytes that a byte of a random row costs: the row is rounded up to whole access granules, and opening it costs
// random_access_cost.
double row_overfetch(const HbmSpec& hbm, Bytes row);

// How long the caches hold a line that is not used again, if lines from memory fill the caches at the memory's whole
// bandwidth.
Time residence(const CacheSpec& l2, const std::optional<CacheSpec>& memory_side, BytesPerSecond memory);

// Steady-state hit ratio of uniformly random accesses over `footprint` bytes: the share that fits into the caches.
double uniform_hit_ratio(const CacheSpec& l2, const std::optional<CacheSpec>& memory_side, Bytes footprint);

// Share of a kernel's stored bytes that are written to memory before the kernel ends. At its end, the cache holds the
// bytes that passed through it last. The stored bytes among them are not written yet, and the kernel does not wait for
// them. `stored`: bytes that the kernel stores. `loaded`: bytes that it loads from memory.
double written_back(const CacheSpec& l2, const std::optional<CacheSpec>& memory_side, Bytes stored, Bytes loaded);

// Random reads of table rows by a kernel that goes from table to table (embedding).
struct TableReads {
  std::int64_t tables = 1;
  std::int64_t rows = 1;  // per table
  Bytes row_bytes;
  std::int64_t passes = 1;          // how often the kernel goes through all tables
  std::int64_t reads_per_pass = 1;  // per table
  double zipf_exponent = 0;         // the k-th most popular row is read in proportion to 1 / k^exponent
  double tables_at_once = 1;        // number of tables that the resident workgroups read at the same time
};

// Share of the reads that hit in an initially empty LRU cache. Che's approximation of an LRU cache: a row stays in the
// cache until as many different rows have been read as the cache holds.
double table_hit_ratio(const CacheSpec& l2, const std::optional<CacheSpec>& memory_side, const TableReads& reads);

// L2 bandwidth, per byte read, that reads of the most popular row take in addition to their bytes, because the row lies
// in few slices of the cache. If several tables are read at the same time, each has a most popular row, and these rows
// lie in different slices.
double popular_extra(const CacheSpec& l2, const TableReads& reads);

}  // namespace moire::memory
