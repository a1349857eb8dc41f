#include "models/hardware/memory/table_traffic.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "models/hardware/memory/popularity.hpp"
#include "sim/core/power.hpp"

namespace moire::memory {

namespace {

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

// Returns the requests for a row per read of its table, if `share` of the reads are of this row and a load instruction
// reads `at_a_time` rows.
double requests_of(double share, double at_a_time) {
  if (at_a_time == 1) return share;
  constexpr double below_one = 1 - 1e-15;
  return -std::expm1(at_a_time * std::log1p(-std::min(share, below_one))) / at_a_time;
}

// The load of a slice as a random variable, in steps of a twelfth of the heaviest row.
class SliceLoad {
 public:
  SliceLoad(double heaviest, double slices) : step_(heaviest / per_heaviest), in_slice_(1 / slices) {
    probability_.assign(12 * per_heaviest, 0);
    probability_[0] = 1;
  }

  // Adds a row that lies in the slice with probability `certainty` / slices.
  void add(double load, double certainty) {
    const double chance = certainty * in_slice_, steps = load / step_;
    const auto whole = static_cast<std::size_t>(steps);
    const double beyond = steps - static_cast<double>(whole);
    for (std::size_t i = probability_.size(); i-- > 0;) {
      const double exact = i >= whole ? probability_[i - whole] : 0;
      const double above = i > whole ? probability_[i - whole - 1] : 0;
      probability_[i] += chance * ((1 - beyond) * exact + beyond * above - probability_[i]);
    }
  }

  // Returns the expected load of the busiest slice, if the heaviest row, which was not added, lies in one of them.
  double busiest() const {
    constexpr double negligible = -60;  // e^-60
    std::vector<double> at_most;
    double sum = 0, expected = 0;
    for (const double each : probability_) {
      at_most.push_back(sum += each);
      const std::size_t i = at_most.size() - 1;
      const double others = (1 / in_slice_ - 1) * core::logarithm(sum);
      const double of_others = others < negligible ? 0 : core::power(sum, 1 / in_slice_ - 1);
      const double with_heaviest = i >= per_heaviest ? at_most[i - per_heaviest] : 0;
      expected += step_ * (1 - with_heaviest * of_others);
    }
    return expected;
  }

 private:
  static constexpr std::size_t per_heaviest = 12;
  double step_, in_slice_;
  std::vector<double> probability_;
};

// Returns the requests for parts of rows in the busiest slice less those in the mean slice, per read. `tables`: tables
// that are read at the same time. `parts`: slices in which a row lies.
double above_mean(const std::vector<Popularity::Group>& requests, double tables, double parts, double slices) {
  // The most popular rows are placed at random. The others, which are many, lie evenly in all slices, as do all rows of
  // a table if they are many and all alike.
  double left = std::min(4 * slices, 512.0);
  if (requests.size() == 1 && requests.front().rows * tables * parts > left) return 0;
  const double heaviest = requests.front().share / tables;
  SliceLoad load(heaviest, slices);
  double placed = 0, first = 1;
  for (const Popularity::Group& group : requests) {
    double rows = std::min(group.rows * tables * parts, left);
    left -= rows;
    placed += rows * group.share / tables;
    for (rows -= std::exchange(first, 0); rows > 0; --rows) load.add(group.share / tables, std::min(1.0, rows));
    if (left <= 0) break;
  }
  return std::max(0.0, load.busiest() - placed / slices);
}

struct Wait {
  double requests = 0;  // that the busiest slice has above the mean, per read
  double extra = 0;     // L2 bandwidth that they take, in bytes per byte read
};

Wait wait_for(const CacheSpec& l2, const TableReads& reads, const std::vector<Popularity::Group>& requests,
              double tables, BytesPerSecond of_a_slice) {
  const double slices = static_cast<double>(l2.slices) / static_cast<double>(l2.partitions);
  const double in_slice = l2.in_one_slice(reads.row_bytes).value, row = reads.row_bytes.value;
  const double above = above_mean(requests, tables, std::max(1.0, row / in_slice), slices);
  return {above, above * std::max(1.0, in_slice / row * (l2.bandwidth.value / of_a_slice.value))};
}

}  // namespace

TableTraffic table_traffic(const CacheSpec& l2, const TableReads& reads) {
  const double busiest = busiest_table(reads), row = reads.row_bytes.value;
  std::vector<Popularity::Group> requests = Popularity(reads).groups();
  // Only CUs that read the same table request the same line.
  const auto merging = [&](double share) {
    constexpr double most = 0.5;
    return busiest * std::min(most, share * busiest * l2.merge_window.value / row);
  };
  double all = 0, merged = 0;
  for (Popularity::Group& group : requests) {
    group.share = requests_of(group.share, reads.rows_per_load);
    all += group.rows * group.share;
    merged += group.rows * group.share * merging(group.share);
  }
  Wait wait;
  if (l2.slice_bandwidth && l2.slices > l2.partitions) {
    const double tables = 1 / busiest;
    wait = wait_for(l2, reads, requests, tables, *l2.slice_bandwidth);
    if (l2.slice_bandwidth_apart) {
      const double of_cu = std::clamp(reads.workgroups_per_cu, 1.0, tables);
      const Wait apart = wait_for(l2, reads, requests, of_cu, *l2.slice_bandwidth_apart);
      if (apart.extra - apart.requests > wait.extra - wait.requests) wait = apart;
    }
    const double most = requests.front().share;
    merged -= std::min(wait.requests, most * busiest) * merging(most);
  }
  return {std::min(1.0, 1 - all + wait.requests + merged), wait.extra};
}

}  // namespace moire::memory
