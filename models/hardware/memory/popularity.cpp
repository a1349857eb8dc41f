#include "models/hardware/memory/popularity.hpp"

#include <algorithm>
#include <cmath>

#include "sim/core/power.hpp"

namespace moire::memory {

namespace {

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

}  // namespace

Popularity::Popularity(const TableReads& reads) {
  if (reads.hot_rows > 0) {
    const auto hot = static_cast<double>(reads.hot_rows), others = static_cast<double>(reads.rows - reads.hot_rows);
    groups_.push_back({hot, reads.hot_share / hot});
    if (others > 0) groups_.push_back({others, (1 - reads.hot_share) / others});
    return;
  }
  double sum = 0;
  for (std::int64_t first = 1; first <= reads.rows;) {
    const std::int64_t left = reads.rows - first + 1;
    const std::int64_t count = reads.zipf_exponent == 0 ? left : std::min(left, std::max<std::int64_t>(1, first / 8));
    const double middle = static_cast<double>(first) + 0.5 * static_cast<double>(count - 1);
    groups_.push_back({static_cast<double>(count), std::pow(middle, -reads.zipf_exponent)});
    sum += groups_.back().rows * groups_.back().share;
    first += count;
  }
  for (Group& group : groups_) group.share /= sum;
}

double Popularity::distinct(double reads) const {
  double sum = 0;
  for (const Group& group : groups_) sum += group.rows * -std::expm1(-group.share * reads);
  return sum;
}

double Popularity::lines(double reads, double partitions) const {
  double sum = 0;
  for (const Group& group : groups_) {
    const Absent absent(group.share * reads, partitions);
    sum += group.rows * (1 - absent.home + (partitions - 1) * (1 - absent.copy));
  }
  return sum;
}

double Popularity::misses(double reads, double partitions) const {
  double sum = 0;
  for (const Group& group : groups_) {
    const Absent absent(group.share * reads, partitions);
    sum += group.rows * group.share * (absent.home + (partitions - 1) * absent.both) / partitions;
  }
  return sum;
}

double Popularity::hits_in_room(double reads, double leaves, std::int64_t passes, double kept) const {
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

}  // namespace moire::memory
