// Computes how much of an access pattern the caches of a GPU serve.
#pragma once

#include <cstdint>
#include <optional>

#include "models/hardware/memory/spec.hpp"

namespace moire::memory {

// Returns how many bytes of HBM traffic a byte of a row costs, if rows are read at random. The row is rounded up to a
// multiple of access_granularity, and each row costs random_access_cost more.
double row_overfetch(const HbmSpec& hbm, Bytes row);

// Returns how long the caches hold a line that is not used again, if lines from memory fill the caches at the whole
// bandwidth `memory` of the memory.
Time residence(const CacheSpec& l2, const std::optional<CacheSpec>& memory_side, BytesPerSecond memory);

// Returns the steady-state hit ratio of uniformly random accesses over `footprint` bytes: the share of these bytes that
// fits into the caches.
double uniform_hit_ratio(const CacheSpec& l2, const std::optional<CacheSpec>& memory_side, Bytes footprint);

// Returns the share of a kernel's stored bytes that are written to memory before the kernel ends. At the end, the cache
// holds the bytes that passed through it last. Stored bytes among them are not written yet, and the kernel does not
// wait for them. `stored`: bytes that the kernel stores. `loaded`: bytes that it loads from memory.
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
  Bytes passing{};  // other bytes that pass through the caches per read and are not read again: results, row numbers
};

// Returns the share of the reads that hit in an initially empty LRU cache. Uses Che's approximation of such a cache: a
// row stays in the cache until as many different rows and passing bytes have followed it as the cache holds.
double table_hit_ratio(const CacheSpec& l2, const std::optional<CacheSpec>& memory_side, const TableReads& reads);

// Returns the additional bytes of L2 bandwidth, per byte read from a table, that reads of the most popular row take,
// because the row lies in few slices of the cache. If several tables are read at the same time, each table has a most
// popular row, and these rows lie in different slices.
double popular_extra(const CacheSpec& l2, const TableReads& reads);

}  // namespace moire::memory
