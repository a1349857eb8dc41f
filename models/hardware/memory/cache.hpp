// Computes how much of an access pattern the caches of a GPU serve.
#pragma once

#include <cstdint>
#include <optional>

#include "models/hardware/memory/spec.hpp"
#include "sim/program/program.hpp"

namespace moire::memory {

enum class Loads { ordinary, evict_first };  // whether a load has the hint that its line be evicted first

// Returns how many bytes of HBM traffic a byte of a row costs, if rows are read at random. The row is rounded up to a
// multiple of access_granularity, and each row costs random_access_cost more.
double row_overfetch(const HbmSpec& hbm, Bytes row);

// Lets a phase load rows of this length from random places.
void loads_rows(const HbmSpec& hbm, Bytes row, program::PhaseShape& shape);

// Returns how long the caches hold a line that is not used again, if lines from memory fill the caches at the whole
// bandwidth `memory` of the memory.
Time residence(const CacheSpec& l2, const std::optional<CacheSpec>& memory_side, BytesPerSecond memory);

// Returns the steady-state hit ratio of accesses to `footprint` bytes, all alike: the share of these bytes that fits
// into the caches if every partition has a copy of them.
double uniform_hit_ratio(const CacheSpec& l2, const std::optional<CacheSpec>& memory_side, Bytes footprint);

// Returns the bytes of the caches that stored lines leave to loads in a kernel that stores little (dirty_least).
Bytes room_for_loads(const CacheSpec& l2, const std::optional<CacheSpec>& memory_side);

// Returns the share of a kernel's stored bytes that are written to memory while the kernel runs, if it stores to the
// same place again and again. Stored lines that the cache keeps at the end of one run are stored again by the next run,
// and never written. `stored`: bytes that the kernel stores. `loaded`: bytes that it loads from memory.
double written_back(const CacheSpec& l2, const std::optional<CacheSpec>& memory_side, Bytes stored, Bytes loaded,
                    Loads loads);

// Random reads of table rows by a kernel that goes from table to table (embedding).
struct TableReads {
  std::int64_t tables = 1;
  std::int64_t rows = 1;  // per table
  Bytes row_bytes;
  std::int64_t passes = 1;          // how often the kernel goes through all tables
  std::int64_t reads_per_pass = 1;  // per table
  double zipf_exponent = 0;         // the k-th most popular row is read in proportion to 1 / k^exponent
  std::int64_t hot_rows = 0;        // instead of Zipf's law: this many rows share hot_share of the reads evenly,
  double hot_share = 0;             // and the other rows share the rest
  double rows_per_load = 1;         // rows that one load instruction of a wavefront reads
  double tables_at_once = 1;        // number of tables that the resident workgroups read at the same time
  double workgroups_per_cu = 1;     // resident ones, each of which reads one table
  Bytes numbers{};                  // row numbers, per read; they pass through the caches and are not read again
  Bytes results{};                  // stored results, per read
  Loads loads = Loads::ordinary;    // of rows
};

// Returns the share of the reads that hit. At the beginning, other lines fill the cache.
//
// Ordinary loads: the oldest line leaves the cache (LRU). Uses Che's approximation: a row stays until as many different
// rows, row numbers and results have followed its last read as the cache holds. With several partitions, a row takes a
// line where its memory is and one in each other partition whose CUs have read it lately; a result takes a line in
// each.
//
// Loads whose lines are evicted first, if the GPU knows the hint: rows have a room of their own (evict_first_share).
// For each read, whether it hits or not, a random line leaves the room, and for a result as many as store_displaces.
double table_hit_ratio(const CacheSpec& l2, const std::optional<CacheSpec>& memory_side, const TableReads& reads);

// Returns the additional bytes of L2 bandwidth, per byte that a matrix product reads, if `readers` workgroups read the
// same columns at about the same time (CacheSpec::lone_read_cost).
double lone_read_extra(const CacheSpec& l2, double readers);

}  // namespace moire::memory
