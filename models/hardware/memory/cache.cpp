#include "models/hardware/memory/cache.hpp"

#include <algorithm>
#include <cmath>

#include "models/hardware/memory/popularity.hpp"
#include "sim/core/power.hpp"

namespace moire::memory {

namespace {

// Returns the cache that holds most. The memory-side cache also holds the lines of the L2, so the sizes are not added.
const CacheSpec& largest(const CacheSpec& l2, const std::optional<CacheSpec>& memory_side) {
  return memory_side && memory_side->duplicated().value > l2.duplicated().value ? *memory_side : l2;
}

// Returns the share of duplicated() that stored lines fill beside loads whose lines are evicted first.
double dirty_share(const CacheSpec& cache, double stored, double loaded) {
  return std::min(cache.dirty_most, cache.dirty_least + stored / (stored + loaded));
}

// Returns the number of reads of a table for which a row stays in the cache after its last read, at most `most`.
// `lines`: lines of the cache, in rows. `passing`: lines of other data that come with each read.
double stay_of(const Popularity& table, double lines, double passing, double partitions, double most) {
  const auto fits = [&](double reads) { return table.lines(reads, partitions) + passing * reads <= lines; };
  if (fits(most)) return most;
  double low = 0;
  double high = most;
  for (int step = 0; step < 100; ++step) {
    const double middle = (low + high) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return low;
}

// Returns the hit ratio in an LRU cache.
double hits_of_ordinary(const Popularity& table, const TableReads& reads, const CacheSpec& cache) {
  const auto tables = static_cast<double>(reads.tables), partitions = static_cast<double>(cache.partitions);
  const double row = reads.row_bytes.value;
  // One CU reads a row number, in the partition of its memory or in another one.
  const double passing = (reads.numbers.value * (2 - 1 / partitions) + reads.results.value * partitions) / row;
  double lines = cache.capacity.value / row;
  auto in_a_row = static_cast<double>(reads.reads_per_pass);
  // If the cache holds all rows that one pass reads in all tables, the next pass finds them in the cache. Then all
  // passes act as one pass, and each table has an equal share of the cache. Otherwise the tables that are read at the
  // same time share the cache.
  if (reads.passes > 1 && tables * (table.lines(in_a_row, partitions) + passing * in_a_row) <= lines) {
    lines /= tables;
    in_a_row *= static_cast<double>(reads.passes);
  } else {
    lines /= std::clamp(reads.tables_at_once, 1.0, tables);
  }
  // Until rows and other data have filled the cache, a read misses if its row was never read. After that, a read misses
  // if its row was not read during the last `stay` reads.
  const double stay = stay_of(table, lines, passing, partitions, in_a_row);
  const double misses = table.distinct(stay) + (in_a_row - stay) * table.misses(stay, partitions);
  return std::clamp(1 - misses / in_a_row, 0.0, 1.0);
}

// Returns the hit ratio of loads whose lines are evicted first.
double hits_of_evict_first(const Popularity& table, const TableReads& reads, const CacheSpec& cache) {
  const auto tables = static_cast<double>(reads.tables), in_a_row = static_cast<double>(reads.reads_per_pass);
  const double room = cache.capacity.value * *cache.evict_first_share;
  const double put = reads.row_bytes.value + reads.numbers.value + reads.results.value * cache.store_displaces;
  const double at_once = std::clamp(reads.tables_at_once, 1.0, tables);
  const double kept = std::exp(-put / room * in_a_row * (tables - at_once));  // while the other tables are read
  return table.hits_in_room(in_a_row, put / room * at_once, reads.passes, kept);
}

bool evicts_first(const CacheSpec& cache, Loads loads) {
  return loads == Loads::evict_first && cache.evict_first_share.has_value();
}

}  // namespace

double row_overfetch(const HbmSpec& hbm, Bytes row) {
  const double grain = hbm.access_granularity.value;
  return (std::ceil(row.value / grain) * grain + hbm.random_access_cost.value) / row.value;
}

void loads_rows(const HbmSpec& hbm, Bytes row, program::PhaseShape& shape) {
  shape.row = row;
  shape.read_overfetch = row_overfetch(hbm, row);
}

double written_back(const CacheSpec& l2, const std::optional<CacheSpec>& memory_side, Bytes stored, Bytes loaded,
                    Loads loads) {
  if (stored.value <= 0) return 1;
  const CacheSpec& cache = largest(l2, memory_side);
  double kept = stored.value * std::min(1.0, cache.duplicated().value / (stored.value + loaded.value));
  if (evicts_first(cache, loads)) kept = cache.duplicated().value * dirty_share(cache, stored.value, loaded.value);
  return 1 - std::min(1.0, kept / stored.value);
}

Time residence(const CacheSpec& l2, const std::optional<CacheSpec>& memory_side, BytesPerSecond memory) {
  return Time::from_ps(largest(l2, memory_side).duplicated().value / memory.value * 1e12);
}

double uniform_hit_ratio(const CacheSpec& l2, const std::optional<CacheSpec>& memory_side, Bytes footprint) {
  return std::min(1.0, largest(l2, memory_side).duplicated().value / footprint.value);
}

Bytes room_for_loads(const CacheSpec& l2, const std::optional<CacheSpec>& memory_side) {
  const CacheSpec& cache = largest(l2, memory_side);
  return cache.duplicated() * (1 - cache.dirty_least);
}

double table_hit_ratio(const CacheSpec& l2, const std::optional<CacheSpec>& memory_side, const TableReads& reads) {
  const Popularity table(reads);
  const CacheSpec& cache = largest(l2, memory_side);
  return evicts_first(cache, reads.loads) ? hits_of_evict_first(table, reads, cache)
                                          : hits_of_ordinary(table, reads, cache);
}

double lone_read_extra(const CacheSpec& l2, double readers) {
  if (readers >= l2.readers_together) return 0;
  return (l2.lone_read_cost - 1) * (1 - (std::max(1.0, readers) - 1) / (l2.readers_together - 1));
}

double CacheSpec::busiest_slice(double lines) const {
  if (slices <= 1) return 1;
  const auto all = static_cast<double>(slices);
  constexpr double four_pi = 12.566370614359172;
  constexpr double euler = 0.5772156649015329;
  const double scale = std::sqrt(2 * core::logarithm(all));
  const double half = (core::logarithm(core::logarithm(all)) + core::logarithm(four_pi)) / 2;
  const double deviations = scale + (euler - half) / scale;
  return std::min(all, 1 + std::max(0.0, deviations) * std::sqrt(all / lines));
}

}  // namespace moire::memory
