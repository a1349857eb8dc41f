// How much of a stated access pattern the caches of a GPU serve.
#pragma once

#include <cstdint>
#include <optional>

#include "models/hardware/memory/spec.hpp"

namespace moire::memory {

// Bytes of HBM time per byte of a random row: whole grains, and what it takes to open the row.
double row_overfetch(const HbmSpec& hbm, Bytes row);

// Hit ratio of uniformly random accesses over `footprint` bytes in steady state: the caches hold the share that fits.
double uniform_hit_ratio(const CacheSpec& l2, const std::optional<CacheSpec>& memory_side, Bytes footprint);

// Share of a kernel's stored bytes that memory takes before the kernel ends. The cache keeps the last bytes that came
// through it, so what is dirty among them stays: nobody waits for it. `stored` and `loaded` from memory: of the kernel.
double written_back(const CacheSpec& l2, const std::optional<CacheSpec>& memory_side, Bytes stored, Bytes loaded);

// Rows of tables read independently of each other by a kernel that walks from table to table.
struct TableReads {
  std::int64_t tables = 1;
  std::int64_t rows = 1;  // of a table
  Bytes row_bytes;
  std::int64_t passes = 1;          // how often the kernel walks through all tables
  std::int64_t reads_per_pass = 1;  // of a table
  double zipf_exponent = 0;         // the k-th row is read in proportion to 1 / k^exponent
  double tables_at_once = 1;        // that the workgroups on the GPU are at
};

// Share of the reads that find their row in an LRU cache that was empty at the start, by Che's approximation: a row
// stays for the number of reads in which as many different rows are asked for as the cache holds.
double table_hit_ratio(const CacheSpec& l2, const std::optional<CacheSpec>& memory_side, const TableReads& reads);

}  // namespace moire::memory
