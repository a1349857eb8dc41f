#include "models/hardware/memory/table_traffic.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "models/hardware/memory/popularity.hpp"

namespace moire::memory {
namespace {

// An L2 like that of an H200.
CacheSpec sliced() {
  CacheSpec l2;
  l2.bandwidth = BytesPerSecond{9.77e12};
  l2.slices = 96;
  l2.partitions = 2;
  l2.slice_bandwidth = BytesPerSecond{848e9};
  return l2;
}

TableReads reads_of(double row, std::int64_t rows) {
  TableReads reads;
  reads.rows = rows;
  reads.row_bytes = Bytes{row};
  reads.rows_per_load = std::max(1.0, 512 / row);
  return reads;
}

// Returns the time of the L2 for a byte of the rows, relative to a byte of rows that are all alike.
double time_of(const CacheSpec& l2, const TableReads& reads) {
  const TableTraffic traffic = table_traffic(l2, reads);
  return 1 - traffic.merged + traffic.extra;
}

TEST(TableTraffic, IsThatOfTheBytesUnlessAFileSaysOtherwise) {
  TableReads reads = reads_of(512, 3);
  reads.zipf_exponent = 1;
  EXPECT_EQ(table_traffic(CacheSpec{}, reads).extra, 0);
  EXPECT_NEAR(table_traffic(CacheSpec{}, reads).merged, 0, 1e-15);
}

// Measured (traces/h200x2/gather_places.measurements.csv): reads of one row arrive at this rate, wherever it lies.
TEST(TableTraffic, OfOneRowIsLimitedByItsSlices) {
  for (const auto& [row, measured] :
       {std::pair{64., 3333e9}, {128, 3350e9}, {256, 1690e9}, {512, 1696e9}, {1024, 1699e9}, {2048, 3210e9}}) {
    const double rate = sliced().bandwidth.value / time_of(sliced(), reads_of(row, 1));
    EXPECT_NEAR(rate, measured, 0.05 * measured) << row;
  }
}

// Measured (the same file, table of 8 MiB): a share of 0.1 to 0.5 of the reads goes to one row.
TEST(TableTraffic, OfAPopularRowAddsUpWithThatOfTheOthers) {
  for (const auto& [row, share, measured] : {std::tuple{128., 0.1, 5090e9},
                                             {128, 0.5, 2982e9},
                                             {512, 0.1, 6545e9},
                                             {512, 0.5, 2869e9},
                                             {1024, 0.5, 2833e9}}) {
    TableReads reads = reads_of(row, static_cast<std::int64_t>((8 << 20) / row));
    reads.hot_rows = 1;
    reads.hot_share = share;
    EXPECT_NEAR(sliced().bandwidth.value / time_of(sliced(), reads), measured, 0.08 * measured) << row << ' ' << share;
  }
}

TEST(TableTraffic, ALoadOfAWavefrontRequestsALineOnce) {
  TableReads reads = reads_of(128, 2);  // 4 rows a load
  reads.hot_rows = 1;
  reads.hot_share = 0.25;
  const double requests = (1 - std::pow(0.75, 4)) / 4 + (1 - std::pow(0.25, 4)) / 4;
  EXPECT_NEAR(table_traffic(CacheSpec{}, reads).merged, 1 - requests, 1e-12);
  reads.rows_per_load = 1;
  EXPECT_NEAR(table_traffic(CacheSpec{}, reads).merged, 0, 1e-12);
}

// Compares with rows that are placed at random: equally popular ones in several tables, and Zipf's law.
TEST(TableTraffic, HasTheExpectedLoadOfTheBusiestSlice) {
  std::mt19937 random(1);
  for (const auto& [tables, rows, exponent] :
       {std::tuple{1, 1, 0.}, {4, 1, 0}, {30, 1, 0}, {1, 60, 1.05}, {9, 50, 1.2}}) {
    TableReads reads = reads_of(256, rows);
    reads.rows_per_load = 1;
    reads.zipf_exponent = exponent;
    reads.tables = tables;
    reads.tables_at_once = tables;
    const Popularity popularity(reads);
    double mean = 0;
    constexpr int samples = 2000;
    for (int sample = 0; sample < samples; ++sample) {
      std::vector<double> load(48);
      for (int table = 0; table < tables; ++table)
        for (const Popularity::Group& group : popularity.groups())
          for (double row = 0; row < group.rows; ++row) load[random() % load.size()] += group.share / tables;
      mean += (*std::max_element(load.begin(), load.end()) - 1 / 48.) / samples;
    }
    const CacheSpec l2 = sliced();
    EXPECT_NEAR(table_traffic(l2, reads).extra, mean * l2.bandwidth.value / l2.slice_bandwidth->value,
                0.05 * mean * 11.5)
        << tables << ' ' << rows << ' ' << exponent;
  }
}

// More bandwidth of a slice, more tables and a flatter law never cost time.
TEST(TableTraffic, IsNeverMoreWithMoreOfAResource) {
  std::mt19937 random(2);
  const auto between = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  for (int sample = 0; sample < 200; ++sample) {
    TableReads reads = reads_of(std::pow(2, between(4, 13)), static_cast<std::int64_t>(std::pow(10, between(0, 6))));
    reads.zipf_exponent = between(0, 2);
    reads.tables = 1 + static_cast<std::int64_t>(between(0, 40));
    reads.tables_at_once = between(0.01, 40);
    const CacheSpec l2 = sliced();
    const double time = time_of(l2, reads);
    EXPECT_GT(time, 0);
    CacheSpec faster = l2;
    faster.slice_bandwidth = BytesPerSecond{2 * 848e9};
    EXPECT_LE(time_of(faster, reads), time * (1 + 1e-12));
    CacheSpec merging = l2;
    merging.merge_window = Bytes{290e3};
    EXPECT_LE(time_of(merging, reads), time * (1 + 1e-12));
    CacheSpec all_faster = l2.at_clock(2);
    EXPECT_NEAR(time_of(all_faster, reads), time, 1e-9 * time);
  }
}

// Measured: 8 CU groups of an H200 gather rows of 512 B from tables of 2 and 1 MiB at 1.17 and 1.49 times the rate of a
// table of 8 MiB.
TEST(TableTraffic, MergesRequestsInTheWindow) {
  CacheSpec l2;
  TableReads reads = reads_of(512, 2048);
  reads.tables = 8;
  reads.tables_at_once = 1e-15;
  const auto merged = [&] { return table_traffic(l2, reads).merged; };
  EXPECT_NEAR(merged(), 0, 1e-12) << "nothing merges unless a file says so";
  l2.merge_window = Bytes{262144};
  EXPECT_NEAR(merged(), 0.25, 1e-12);
  reads.tables_at_once = 4;
  EXPECT_NEAR(merged(), 0.25 / 16, 1e-12)
      << "requests spread over four tables, as do the CUs that could have sent them";
  reads.tables_at_once = 1e-15;
  reads.rows = 100;
  EXPECT_NEAR(merged(), 0.5, 1e-12) << "no more than half";
  reads.rows = 2048;
  const CacheSpec even = l2;
  l2.slices = 96;
  l2.slice_bandwidth = BytesPerSecond{848e9};
  l2.bandwidth = BytesPerSecond{9.77e12};
  reads.zipf_exponent = 1.2;
  EXPECT_LT(table_traffic(l2, reads).merged - table_traffic(even, reads).merged, 0.25)
      << "requests for the most popular row wait for its slice";
}

// Measured (traces/h200x2/gather_own.measurements.csv): each workgroup reads one of 132 rows of 512 B, with 4 of them
// on a CU, in 0.0954 ns; rows that lie evenly in a table take 0.0551 ns.
TEST(TableTraffic, OfRowsThatTheWorkgroupsDivideIsLimitedByTheWayOfACu) {
  CacheSpec l2 = sliced();
  TableReads reads = reads_of(512, 1);
  reads.tables = 132;
  reads.tables_at_once = 132;
  reads.workgroups_per_cu = 4;
  const double of_slices = time_of(l2, reads);
  l2.slice_bandwidth_apart = BytesPerSecond{1.38e12};
  EXPECT_GT(time_of(l2, reads), 1.2 * of_slices);
  EXPECT_NEAR(time_of(l2, reads), 0.0954 / 0.0551, 0.1);
  reads.tables_at_once = 1e-15;
  EXPECT_EQ(time_of(l2, reads), time_of(sliced(), reads)) << "one row is limited by its slices";
}

TEST(InOneSlice, IsARunAndHalfOfABlock) {
  const CacheSpec l2;
  for (const auto& [row, in_slice] :
       {std::pair{32., 128.}, {128, 128}, {256, 256}, {384, 256}, {512, 256}, {1024, 512}, {2048, 512}, {8192, 512}})
    EXPECT_DOUBLE_EQ(l2.in_one_slice(Bytes{row}).value, in_slice) << row;
}

}  // namespace
}  // namespace moire::memory
