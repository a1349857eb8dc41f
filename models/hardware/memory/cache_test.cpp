#include "models/hardware/memory/cache.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <list>
#include <random>
#include <unordered_map>
#include <vector>

namespace moire::memory {
namespace {

CacheSpec cache(double bytes) { return {.capacity = {bytes}, .bandwidth = {1e12}, .hit_latency = Time::from_ns(100)}; }

TEST(UniformHitRatio, IsTheShareThatFits) {
  EXPECT_DOUBLE_EQ(uniform_hit_ratio(cache(8e6), std::nullopt, Bytes{32e6}), 0.25);
  EXPECT_DOUBLE_EQ(uniform_hit_ratio(cache(8e6), std::nullopt, Bytes{8e9}), 0.001);
}

TEST(UniformHitRatio, IsOneForWhatFitsWhole) {
  EXPECT_DOUBLE_EQ(uniform_hit_ratio(cache(8e6), std::nullopt, Bytes{8e6}), 1);
  EXPECT_DOUBLE_EQ(uniform_hit_ratio(cache(8e6), std::nullopt, Bytes{1}), 1);
}

TEST(UniformHitRatio, AMemorySideCacheHoldsWhatL2Holds) {
  EXPECT_DOUBLE_EQ(uniform_hit_ratio(cache(4e6), cache(256e6), Bytes{512e6}), 0.5) << "not (4 + 256) / 512";
  EXPECT_DOUBLE_EQ(uniform_hit_ratio(cache(4e6), cache(2e6), Bytes{16e6}), 0.25) << "a smaller one adds nothing";
}

TEST(UniformHitRatio, EveryPartitionHasACopy) {
  CacheSpec two = cache(8e6);
  two.partitions = 2;
  EXPECT_DOUBLE_EQ(uniform_hit_ratio(two, std::nullopt, Bytes{32e6}), 0.125);
}

TEST(Residence, IsTheTimeInWhichMemoryFillsWhatEveryPartitionHolds) {
  CacheSpec two = cache(8e6);
  two.partitions = 2;
  EXPECT_EQ(residence(two, std::nullopt, {4e12}), Time::from_us(1));
  EXPECT_EQ(residence(two, cache(16e6), {4e12}), Time::from_us(4)) << "the larger cache behind it holds them longer";
}

TEST(WrittenBack, IsWhatTheCacheDoesNotHoldAtTheEnd) {
  EXPECT_DOUBLE_EQ(written_back(cache(8e6), std::nullopt, Bytes{16e6}, Bytes{16e6}, Loads::ordinary), 0.75)
      << "half of 8 MB is dirty";
  EXPECT_DOUBLE_EQ(written_back(cache(8e6), std::nullopt, Bytes{4e6}, Bytes{4e6}, Loads::ordinary), 0)
      << "all of it fits";
  EXPECT_DOUBLE_EQ(written_back(cache(8e6), std::nullopt, Bytes{32e6}, Bytes{0}, Loads::ordinary), 0.75);
  EXPECT_DOUBLE_EQ(written_back(cache(8e6), cache(16e6), Bytes{16e6}, Bytes{16e6}, Loads::ordinary), 0.5);
  EXPECT_DOUBLE_EQ(written_back(cache(8e6), std::nullopt, Bytes{0}, Bytes{16e6}, Loads::ordinary), 1)
      << "nothing is stored";
}

// Each of two partitions has half of 8 MB.
CacheSpec in_partitions() {
  CacheSpec made = cache(8e6);
  made.partitions = 2;
  made.evict_first_share = 0.5;
  made.dirty_least = 0.25;
  return made;
}

TEST(WrittenBack, StoredLinesStayBesideLoadsThatAreEvictedFirst) {
  const CacheSpec l2 = in_partitions();
  const auto written = [&](double stored, double loaded, Loads loads) {
    return written_back(l2, std::nullopt, Bytes{stored}, Bytes{loaded}, loads);
  };
  EXPECT_DOUBLE_EQ(written(16e6, 16e6, Loads::evict_first), 1 - 3. / 16);
  EXPECT_DOUBLE_EQ(written(16e6, 48e6, Loads::evict_first), 1 - 2. / 16);
  EXPECT_DOUBLE_EQ(written(16e6, 0, Loads::evict_first), 1 - 4. / 16);
  EXPECT_NEAR(written(16e6, 1e15, Loads::evict_first), 1 - 1. / 16, 1e-6);
  EXPECT_DOUBLE_EQ(written(1e6, 1e6, Loads::evict_first), 0);
  EXPECT_DOUBLE_EQ(written(16e6, 16e6, Loads::ordinary), 1 - 2. / 16) << "4 MB are shared";
  EXPECT_DOUBLE_EQ(written_back(l2, cache(16e6), Bytes{16e6}, Bytes{16e6}, Loads::evict_first), 0.5)
      << "the larger cache does not know the hint";
}

TEST(RowOverfetch, IsWholeGrainsAndTheCostOfOpening) {
  HbmSpec hbm;
  hbm.access_granularity = {64};
  EXPECT_DOUBLE_EQ(row_overfetch(hbm, Bytes{512}), 1);
  EXPECT_DOUBLE_EQ(row_overfetch(hbm, Bytes{48}), 64.0 / 48);
  hbm.random_access_cost = {16};
  EXPECT_DOUBLE_EQ(row_overfetch(hbm, Bytes{512}), 528.0 / 512);
}

// --- Rows of tables

TableReads reads_of(std::int64_t rows, std::int64_t reads, double exponent) {
  return {
      .tables = 1, .rows = rows, .row_bytes = {100}, .passes = 1, .reads_per_pass = reads, .zipf_exponent = exponent};
}

// The cache holds all rows, so a read hits if its row was read before. 500 reads of 1,000 rows touch 1,000 x (1 -
// e^-0.5) = 393.47 rows.
TEST(TableHitRatio, InALargeCacheOnlyFirstReadsMiss) {
  EXPECT_NEAR(table_hit_ratio(cache(1e9), std::nullopt, reads_of(1000, 500, 0)), 1 - 393.4693 / 500, 1e-6);
}

TEST(TableHitRatio, AfterManyReadsOfAlikeRowsIsTheShareThatFits) {
  EXPECT_NEAR(table_hit_ratio(cache(25'000), std::nullopt, reads_of(1000, 10'000'000, 0)), 0.25, 1e-4);
}

// With each read, as many bytes of other data come into the cache as a row has. A row stays for x N of many reads of N
// alike rows, where N (1 - e^-x) rows and x N rows of other data fill a quarter of N rows. The hit ratio is 1 - e^-x.
TEST(TableHitRatio, BytesThatPassTakeRoomFromRows) {
  TableReads reads = reads_of(1000, 10'000'000, 0);
  reads.numbers = Bytes{100};
  const double hits = table_hit_ratio(cache(25'000), std::nullopt, reads);
  EXPECT_NEAR(hits - std::log1p(-hits), 0.25, 1e-4);
  double before = 1;
  for (const double bytes : {0., 1., 50., 1e3, 1e6}) {
    reads.numbers = Bytes{bytes};
    const double now = table_hit_ratio(cache(25'000), std::nullopt, reads);
    EXPECT_LT(now, before);
    before = now;
  }
}

// An unused line stays for 2 N reads of N alike rows. In this time, the CUs of each partition read a row once in the
// mean, so there is no copy of it with probability 1/e. A read of the other partition that finds no copy comes home,
// with probability 1/e. So the row is missing at home with 1/e (1 - 1/e), and both there and as a copy with 1/e^2. The
// cache is as large as the lines that are not missing.
TEST(TableHitRatio, PartitionsKeepCopies) {
  CacheSpec l2 = in_partitions();
  const double e1 = std::exp(-1), home = e1 * (1 - e1);
  l2.capacity = Bytes{1000 * 100 * (1 - home + 1 - e1)};
  EXPECT_NEAR(table_hit_ratio(l2, std::nullopt, reads_of(1000, 10'000'000, 0)), 1 - (home + e1 * e1) / 2, 1e-4);
  l2.capacity = Bytes{1000 * 100 * 0.5};
  l2.partitions = 1;
  EXPECT_NEAR(table_hit_ratio(l2, std::nullopt, reads_of(1000, 10'000'000, 0)), 0.5, 1e-4);
}

// Of N alike rows, each read displaces one of the room's R lines, so a row is held with probability R / (R + N).
TEST(TableHitRatio, RowsThatAreEvictedFirstHaveARoomOfTheirOwn) {
  CacheSpec l2 = in_partitions();
  l2.capacity = Bytes{2 * 250 * 100};
  l2.store_displaces = 3;
  TableReads reads = reads_of(1000, 10'000'000, 0);
  reads.loads = Loads::evict_first;
  EXPECT_NEAR(table_hit_ratio(l2, std::nullopt, reads), 250. / 1250, 1e-4);
  reads.results = Bytes{100};  // displaces three more lines
  EXPECT_NEAR(table_hit_ratio(l2, std::nullopt, reads), 62.5 / 1062.5, 1e-4);
  reads.results = Bytes{0};
  reads.tables = 4;
  reads.tables_at_once = 2;
  EXPECT_NEAR(table_hit_ratio(l2, std::nullopt, reads), 125. / 1125, 1e-4);
  l2.evict_first_share.reset();
  const double without = table_hit_ratio(l2, std::nullopt, reads);
  reads.loads = Loads::ordinary;
  EXPECT_EQ(table_hit_ratio(l2, std::nullopt, reads), without) << "a GPU that does not know the hint";
}

// Without another table, a second pass finds all that the room held after the first. With other tables, it finds
// e^(-n / R) of it, where n is the number of their reads and R the number of lines in the room.
TEST(TableHitRatio, TheNextPassFindsWhatTheRoomHasKept) {
  CacheSpec l2 = in_partitions();
  l2.capacity = Bytes{2 * 250 * 100};
  TableReads once = reads_of(1000, 400, 0), twice = reads_of(1000, 200, 0);
  once.loads = twice.loads = Loads::evict_first;
  twice.passes = 2;
  EXPECT_NEAR(table_hit_ratio(l2, std::nullopt, twice), table_hit_ratio(l2, std::nullopt, once), 1e-12);
  twice.tables = 3;
  const double rate = 1. / 1000 + 1. / 250, first = 0.2 * (1 - (1 - std::exp(-200 * rate)) / (200 * rate));
  const double held = 0.2 * (1 - std::exp(-200 * rate)) * std::exp(-400. / 250);
  const double second = 0.2 + (held - 0.2) * (1 - std::exp(-200 * rate)) / (200 * rate);
  EXPECT_NEAR(table_hit_ratio(l2, std::nullopt, twice), (first + second) / 2, 1e-12);
}

// In the first reads, the room holds few of the rows: with rate r = 1/N + 1/R, the mean over n reads is the share of
// the steady state that 1 - (1 - e^(-r n)) / (r n) gives.
TEST(TableHitRatio, RowsThatAreEvictedFirstComeOneByOne) {
  CacheSpec l2 = in_partitions();
  l2.capacity = Bytes{2 * 250 * 100};
  TableReads reads = reads_of(1000, 200, 0);
  reads.loads = Loads::evict_first;
  const double rn = 200 * (1. / 1000 + 1. / 250);
  EXPECT_NEAR(table_hit_ratio(l2, std::nullopt, reads), 0.2 * (1 - (1 - std::exp(-rn)) / rn), 1e-9);
}

// Two tables that are read together each have half of the cache.
TEST(TableHitRatio, TablesReadTogetherShareTheCache) {
  TableReads reads = reads_of(1000, 10'000'000, 0);
  reads.tables = 8;
  reads.tables_at_once = 2;
  EXPECT_NEAR(table_hit_ratio(cache(25'000), std::nullopt, reads), 0.125, 1e-4);
  reads.tables_at_once = 0.5;  // counts as one table
  EXPECT_NEAR(table_hit_ratio(cache(25'000), std::nullopt, reads), 0.25, 1e-4);
}

TEST(TableHitRatio, AnEmptyCacheNeverHits) {
  EXPECT_NEAR(table_hit_ratio(cache(1e-3), std::nullopt, reads_of(1000, 100'000, 1)), 0, 1e-6);
}

TEST(TableHitRatio, TheMorePopularityDiffersTheMoreHits) {
  double before = -1;
  for (const double exponent : {0.0, 0.4, 0.8, 1.05, 1.5, 2.5}) {
    const double now = table_hit_ratio(cache(1e5), std::nullopt, reads_of(100'000, 1'000'000, exponent));
    EXPECT_GT(now, before);
    before = now;
  }
}

// Small tables stay in the cache from pass to pass. Large tables do not, so each pass starts with an empty cache.
TEST(TableHitRatio, APassFindsWhatTheLastOneLeftIfAllTablesFit) {
  TableReads reads = reads_of(1000, 500, 0);
  reads.tables = 4;
  reads.passes = 3;
  EXPECT_NEAR(table_hit_ratio(cache(1e6), std::nullopt, reads),
              table_hit_ratio(cache(1e6), std::nullopt, reads_of(1000, 1500, 0)), 1e-12);
  EXPECT_NEAR(table_hit_ratio(cache(100'000), std::nullopt, reads),
              table_hit_ratio(cache(1e6), std::nullopt, reads_of(1000, 500, 0)), 1e-12);
}

// An LRU cache for `holds` rows.
class Lru {
 public:
  explicit Lru(std::size_t holds) : holds_(holds) {}
  bool read(std::int64_t row) {  // returns whether the row is held; afterwards it is
    const auto found = where_.find(row);
    if (found != where_.end()) {
      order_.splice(order_.begin(), order_, found->second);
      return true;
    }
    order_.push_front(row);
    where_[row] = order_.begin();
    if (order_.size() > holds_) {
      where_.erase(order_.back());
      order_.pop_back();
    }
    return false;
  }

 private:
  std::size_t holds_;
  std::list<std::int64_t> order_;  // most recent first
  std::unordered_map<std::int64_t, std::list<std::int64_t>::iterator> where_;
};

struct Walk {
  std::size_t holds;  // all partitions together
  std::int64_t rows;
  std::int64_t reads;
  double exponent;
  std::int64_t partitions = 1;
};

// Returns the hit ratio of a cache that is simulated read by read, as a reference.
double simulated_hit_ratio(const Walk& walk) {
  std::vector<double> sums;
  double sum = 0;
  for (std::int64_t k = 1; k <= walk.rows; ++k) sums.push_back(sum += std::pow(static_cast<double>(k), -walk.exponent));
  std::mt19937_64 engine(5);
  const auto partitions = static_cast<std::uint64_t>(walk.partitions);
  std::vector<Lru> caches(partitions, Lru(walk.holds / partitions));
  std::int64_t hits = 0;
  for (std::int64_t i = 0; i < walk.reads; ++i) {
    const double at = static_cast<double>(engine() >> 11) * 0x1p-53 * sum;
    const std::int64_t row = std::lower_bound(sums.begin(), sums.end(), at) - sums.begin();
    const std::uint64_t home = static_cast<std::uint64_t>(row) % partitions, reader = engine() % partitions;
    bool hit = reader != home && caches[reader].read(row);
    if (!hit) hit = caches[home].read(row);
    hits += hit ? 1 : 0;
  }
  return static_cast<double>(hits) / static_cast<double>(walk.reads);
}

struct TableHitRatioOf : ::testing::TestWithParam<Walk> {};

TEST_P(TableHitRatioOf, IsThatOfACacheReadRowByRow) {
  const Walk walk = GetParam();
  CacheSpec l2 = cache(100.0 * static_cast<double>(walk.holds));
  l2.partitions = walk.partitions;
  EXPECT_NEAR(table_hit_ratio(l2, std::nullopt, reads_of(walk.rows, walk.reads, walk.exponent)),
              simulated_hit_ratio(walk), 3 * std::sqrt(0.25 / static_cast<double>(walk.reads)) + 0.001);
}

INSTANTIATE_TEST_SUITE_P(Walks, TableHitRatioOf,
                         ::testing::Values(Walk{3000, 10'000, 4000, 0}, Walk{3000, 10'000, 50'000, 0},
                                           Walk{3000, 100'000, 20'000, 0.6}, Walk{3000, 100'000, 100'000, 0.8},
                                           Walk{3000, 100'000, 100'000, 1.05}, Walk{500, 100'000, 100'000, 1.05},
                                           Walk{3000, 100'000, 2000, 1.05}, Walk{3000, 100'000, 100'000, 1.5},
                                           Walk{3000, 10'000, 50'000, 0, 2}, Walk{3000, 100'000, 100'000, 0.8, 2},
                                           Walk{3000, 100'000, 100'000, 1.05, 2}, Walk{3000, 100'000, 100'000, 1.5, 2},
                                           Walk{3000, 100'000, 100'000, 0.8, 4}));

// An H200's L2 reads 1.45 times the requested bytes of a product if single workgroups need a column of B,
// and 1.30, 1.20 and 1.04 times as many with 2.06, 2.75 and 4 workgroups.
TEST(LoneReadExtra, FallsWithTheNumberOfReaders) {
  CacheSpec l2;
  EXPECT_EQ(lone_read_extra(l2, 1), 0) << "costs nothing unless a file says so";
  l2.lone_read_cost = 1.45;
  l2.readers_together = 4.3;
  EXPECT_NEAR(lone_read_extra(l2, 0.5), 0.45, 1e-12);
  EXPECT_NEAR(lone_read_extra(l2, 1), 0.45, 1e-12);
  for (const auto& [readers, counted] : {std::pair{2.06, 0.30}, {2.75, 0.20}, {4., 0.04}})
    EXPECT_NEAR(lone_read_extra(l2, readers), counted, 0.02) << readers;
  EXPECT_EQ(lone_read_extra(l2, 4.3), 0);
  EXPECT_EQ(lone_read_extra(l2, 132), 0);
}

// Compares busiest_slice() with lines that are divided among slices at random. With 2,112 and 4,224 lines in 80 slices,
// the profiler counted on an H100 that the busiest slice had 1.44 to 1.55 and 1.36 times the mean.
TEST(BusiestSlice, IsTheExpectedMaximumOfRandomDivision) {
  CacheSpec l2;
  EXPECT_EQ(l2.busiest_slice(100), 1) << "even unless a file says how many slices there are";
  std::mt19937_64 random(1);
  for (const auto& [slices, lines] : {std::pair{80, 2112}, {80, 4224}, {96, 16'384}, {32, 65'536}, {96, 1'000'000}}) {
    l2.slices = slices;
    double sum = 0;
    constexpr int draws = 200;
    for (int draw = 0; draw < draws; ++draw) {
      std::vector<int> load(static_cast<std::size_t>(slices));
      for (int line = 0; line < lines; ++line) ++load[random() % load.size()];
      sum += *std::max_element(load.begin(), load.end()) * 1. * slices / lines;
    }
    EXPECT_NEAR(l2.busiest_slice(lines) - 1, sum / draws - 1, 0.08 * (sum / draws - 1)) << slices << " " << lines;
  }
}

TEST(BusiestSlice, MoreLinesAddLessThanTheirShareButNeverNothing) {
  CacheSpec l2;
  for (const std::int64_t slices : {2, 80, 1000}) {
    l2.slices = slices;
    double before = 0;
    for (double lines = 1; lines < 1e9; lines *= 1.7) {
      EXPECT_GE(l2.busiest_slice(lines), 1);
      EXPECT_LE(l2.busiest_slice(lines), static_cast<double>(slices)) << "all lines in one slice";
      EXPECT_GT(lines * l2.busiest_slice(lines), before);
      before = lines * l2.busiest_slice(lines);
    }
  }
}

}  // namespace
}  // namespace moire::memory
