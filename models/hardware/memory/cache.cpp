#include "models/hardware/memory/cache.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

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

  // Returns the expected number of different rows among `reads` reads.
  double distinct(double reads) const {
    double sum = 0;
    for (const Group& group : groups_) sum += group.rows * -std::expm1(-group.share * reads);
    return sum;
  }

  // Returns the number of lines that rows fill if a line stays for `reads` reads of the table after its last use.
  double lines(double reads, double partitions) const {
    double sum = 0;
    for (const Group& group : groups_) {
      const Absent absent(group.share * reads, partitions);
      sum += group.rows * (1 - absent.home + (partitions - 1) * (1 - absent.copy));
    }
    return sum;
  }

  // Returns the share of the reads that then miss.
  double misses(double reads, double partitions) const {
    double sum = 0;
    for (const Group& group : groups_) {
      const Absent absent(group.share * reads, partitions);
      sum += group.rows * group.share * (absent.home + (partitions - 1) * absent.both) / partitions;
    }
    return sum;
  }

  // Returns the share of the reads that hit in a room of the cache that holds none of the rows at first. Each of
  // `reads` reads in a pass puts its row into the room, and each line leaves with probability `leaves` per read. Of the
  // rows that the room holds at the end of a pass, the next pass finds the share `kept`.
  double hits_in_room(double reads, double leaves, std::int64_t passes, double kept) const {
    double sum = 0;
    for (const Group& group : groups_) {
      const double rate = group.share + leaves;
      const double in_the_end = group.share / rate;
      const double not_yet = -std::expm1(-rate * reads) / (rate * reads);  // mean over the reads of a pass
      double held = 0, hits = 0;
      for (std::int64_t pass = 0; pass < passes; ++pass) {
        hits += in_the_end + (held - in_the_end) * not_yet;
        held = kept * (in_the_end + (held - in_the_end) * std::exp(-rate * reads));
      }
      sum += group.rows * group.share * hits / static_cast<double>(passes);
    }
    return sum;
  }

  double most() const { return groups_.front().share; }  // share of all reads that go to the most popular row

 private:
  struct Group {
    double rows;
    double share;  // share of all reads that go to one row of the group
  };

  // Probabilities that a line is absent whose row is read `reads` times, in the mean, while an unused line stays. A
  // read looks for a copy in the partition of its own CUs. If there is none, it goes to the partition of the row's
  // memory (home) and brings a copy. So of the reads by other CUs, home sees only those that found no copy: in each
  // partition at most one in the time for which a line stays.
  struct Absent {
    Absent(double reads, double partitions) {
      const double of_one = reads / partitions;  // reads by the CUs of one partition
      copy = std::exp(-of_one);
      const double unseen = 1 - of_one * copy;  // no read of another partition's CUs has come home
      home = copy * core::power(unseen, partitions - 1);
      both = copy * copy * core::power(unseen, partitions - 2);
    }
    double copy, home, both;
  };
  std::vector<Group> groups_;
};

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

// Returns the mean share of the reads that go to the table with most of them. Workgroups do neighbouring tasks, so
// their reads go to a window of `at_once` tables that moves from the first table to the last. It covers part of a table
// at either end.
double busiest_table(const TableReads& reads) {
  const double at_once = std::min(reads.tables_at_once, static_cast<double>(reads.tables));
  if (reads.tables == 1 || at_once <= 0) return 1;
  // A window narrower than a table lies in one table, or in two with at least half, 3/4 in the mean.
  if (at_once <= 1) return 1 - at_once / 4;
  if (at_once >= 2) return 1 / at_once;
  // A wider window covers a whole table, or two in part: the larger part is at_once / 2 + (2 - at_once) / 4 in the
  // mean.
  const double whole = at_once - 1, part = at_once / 2 + (2 - at_once) / 4;
  return (whole + (1 - whole) * part) / at_once;
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
  const Popularity table(reads.rows, reads.zipf_exponent);
  const CacheSpec& cache = largest(l2, memory_side);
  return evicts_first(cache, reads.loads) ? hits_of_evict_first(table, reads, cache)
                                          : hits_of_ordinary(table, reads, cache);
}

double popular_extra(const CacheSpec& l2, const TableReads& reads) {
  const double most = Popularity(reads.rows, reads.zipf_exponent).most() * busiest_table(reads);
  const double fewer_slices = std::clamp(l2.popular_row.value / reads.row_bytes.value, 1.0, 2.0);
  return most * (l2.popular_cost * fewer_slices - 1);
}

double merged_share(const CacheSpec& l2, const TableReads& reads) {
  constexpr double most = 0.5;
  const double table = static_cast<double>(reads.rows) * reads.row_bytes.value;
  const double merged = std::min(most, l2.merge_window.value * busiest_table(reads) / table);
  return std::max(0.0, merged - popular_extra(l2, reads));
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
