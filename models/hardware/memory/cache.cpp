#include "models/hardware/memory/cache.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "sim/core/power.hpp"

namespace moire::memory {

namespace {

double held_bytes(const CacheSpec& cache) { return cache.capacity.value * cache.usable_share; }

// Returns the cache that holds most. The memory-side cache also holds the lines of the L2, so the sizes are not added.
const CacheSpec& largest(const CacheSpec& l2, const std::optional<CacheSpec>& memory_side) {
  return memory_side && held_bytes(*memory_side) > held_bytes(l2) ? *memory_side : l2;
}

// Returns the share of the usable bytes that stored lines fill.
double dirty_share(const CacheSpec& cache, double stored, double loaded) {
  return std::min(cache.dirty_most, cache.dirty_least + stored / (stored + loaded));
}

// The rows of one table, from the most to the least popular, in groups of nearly equal popularity. The first groups are
// single rows. A later group has about an eighth as many rows as there are before it.
class Popularity {
 public:
  Popularity(std::int64_t rows, double exponent) {
    double sum = 0;
    for (std::int64_t first = 1; first <= rows;) {
      const std::int64_t count =
          exponent == 0 ? rows : std::min(rows - first + 1, std::max<std::int64_t>(1, first / 8));
      const double middle = static_cast<double>(first) + 0.5 * static_cast<double>(count - 1);
      groups_.push_back({static_cast<double>(count), std::pow(middle, -exponent)});
      sum += groups_.back().rows * groups_.back().share;
      first += count;
    }
    for (Group& group : groups_) group.share /= sum;
  }

  // distinct(): expected number of different rows among `reads` reads. growth(): its derivative.
  double distinct(double reads) const {
    double sum = 0;
    for (const Group& group : groups_) sum += group.rows * -std::expm1(-group.share * reads);
    return sum;
  }
  double growth(double reads) const {
    double sum = 0;
    for (const Group& group : groups_) sum += group.rows * group.share * std::exp(-group.share * reads);
    return sum;
  }
  double most() const { return groups_.front().share; }  // share of all reads that go to the most popular row

 private:
  struct Group {
    double rows;
    double share;  // share of all reads that go to one row of the group
  };
  std::vector<Group> groups_;
};

// Returns the expected number of reads of a table after which `held` rows have come into the cache, at most `most`.
// `passing`: other lines that come into the cache with each read, in rows.
double reads_that_fill(const Popularity& table, double held, double passing, double most) {
  if (table.distinct(most) + passing * most <= held) return most;
  double low = 0;
  double high = most;
  for (int step = 0; step < 100; ++step) {
    const double middle = (low + high) / 2;
    (table.distinct(middle) + passing * middle < held ? low : high) = middle;
  }
  return low;
}

// Returns the hit ratio of `reads` in a cache with `bytes` for rows and all lines that pass through it, `passing` bytes
// per read.
double hit_ratio(const Popularity& table, const TableReads& reads, double bytes, double passing_bytes) {
  double held = bytes / reads.row_bytes.value;
  auto in_a_row = static_cast<double>(reads.reads_per_pass);
  // If the cache holds all rows that one pass reads in all tables, the next pass finds them in the cache. Then all
  // passes act as one pass, and each table has an equal share of the cache. Otherwise the tables that are read at the
  // same time share the cache.
  const auto tables = static_cast<double>(reads.tables);
  const double passing = passing_bytes / reads.row_bytes.value;
  if (reads.passes > 1 && tables * (table.distinct(in_a_row) + passing * in_a_row) <= held) {
    held /= tables;
    in_a_row *= static_cast<double>(reads.passes);
  } else {
    held /= std::clamp(reads.tables_at_once, 1.0, tables);
  }
  const double stay = reads_that_fill(table, held, passing, in_a_row);
  // Until the cache is full, a read misses if its row was never read. After that, a read misses if its row was not read
  // during the last `stay` reads.
  const double misses = table.distinct(stay) + (in_a_row - stay) * table.growth(stay);
  return std::clamp(1 - misses / in_a_row, 0.0, 1.0);
}

}  // namespace

double row_overfetch(const HbmSpec& hbm, Bytes row) {
  const double grain = hbm.access_granularity.value;
  const double bytes = std::ceil(row.value / grain) * grain + hbm.random_access_cost.value;
  const double least = hbm.random_access_rate ? hbm.bandwidth.value / hbm.random_access_rate->value : 0;
  return std::max(bytes, least) / row.value;
}

double written_back(const CacheSpec& l2, const std::optional<CacheSpec>& memory_side, Bytes stored, Bytes loaded) {
  if (stored.value <= 0) return 1;
  const CacheSpec& cache = largest(l2, memory_side);
  double kept = stored.value * std::min(1.0, cache.capacity.value / (stored.value + loaded.value));
  if (cache.dirty_most > 0) kept = held_bytes(cache) * dirty_share(cache, stored.value, loaded.value);
  return 1 - std::min(1.0, kept / stored.value);
}

Time residence(const CacheSpec& l2, const std::optional<CacheSpec>& memory_side, BytesPerSecond memory) {
  return Time::from_ps(held_bytes(largest(l2, memory_side)) / memory.value * 1e12);
}

double uniform_hit_ratio(const CacheSpec& l2, const std::optional<CacheSpec>& memory_side, Bytes footprint) {
  return std::min(1.0, held_bytes(largest(l2, memory_side)) / footprint.value);
}

Bytes room_for_loads(const CacheSpec& l2, const std::optional<CacheSpec>& memory_side) {
  const CacheSpec& cache = largest(l2, memory_side);
  return Bytes{held_bytes(cache) * (1 - cache.dirty_least)};
}

double table_hit_ratio(const CacheSpec& l2, const std::optional<CacheSpec>& memory_side, const TableReads& reads) {
  const Popularity table(reads.rows, reads.zipf_exponent);
  const CacheSpec& cache = largest(l2, memory_side);
  const double held = held_bytes(cache);
  if (cache.dirty_most == 0) return hit_ratio(table, reads, held, reads.numbers.value + reads.results.value);
  // The more reads hit, the larger is the share of the stores in the traffic of the memory, so that stored lines leave
  // less room for rows.
  double low = 0;
  double high = 1;
  for (int step = 0; step < 30; ++step) {
    const double hits = (low + high) / 2;
    const double loaded = reads.row_bytes.value * (1 - hits) + reads.numbers.value;
    const double room = held * (1 - dirty_share(cache, reads.results.value, loaded));
    (hit_ratio(table, reads, room, reads.numbers.value) > hits ? low : high) = hits;
  }
  return low;
}

double popular_extra(const CacheSpec& l2, const TableReads& reads) {
  const double most = Popularity(reads.rows, reads.zipf_exponent).most();
  const double at_once = std::clamp(reads.tables_at_once, 1.0, static_cast<double>(reads.tables));
  const double fewer_slices = std::clamp(l2.popular_row.value / reads.row_bytes.value, 1.0, 2.0);
  return most / at_once * (l2.popular_cost * fewer_slices - 1);
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
