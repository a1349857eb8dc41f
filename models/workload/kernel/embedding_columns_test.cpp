#include "models/workload/kernel/embedding_columns.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <string>

#include "tests/support/csv_table.hpp"
#include "tests/support/shipped_gpu.hpp"

namespace moire::kernel {
namespace {

// Three groups of links with stripes of 2 KiB, as an H200 has them.
link::PortSpec striped() {
  link::PortSpec port;
  port.stripe = Bytes{2048};
  port.stripe_ways = 3;
  port.stripe_cost = 0.72;
  return port;
}

// 12 tables with vectors of 512 B on each of two GPUs. A row of the output has 12 KiB, and a rank stores half of it.
ResultColumns twelve(double tables_per_round, double progress_spread) {
  return {.vector_bytes = 512,
          .tables = 12,
          .ranks = 2,
          .gpus = 2,
          .tables_per_round = tables_per_round,
          .progress_spread = progress_spread};
}

double cost(double busiest) { return 1 + 0.72 * (busiest - 1. / 3); }

TEST(ResultColumns, AllTablesAtOnceUseAllLinks) {
  EXPECT_NEAR(mean_link_cost(striped(), twelve(12, 0)), 1, 1e-9);
  EXPECT_NEAR(mean_link_cost(striped(), twelve(30, 0.14)), 1, 1e-9);
}

// Without a spread, tasks number n of all workgroups run at the same time: 8 of 12 tables first, 4 tables then.
TEST(ResultColumns, TasksOfARoundMeetTheirTables) {
  EXPECT_NEAR(mean_link_cost(striped(), twelve(8, 0)), (8 * cost(0.5) + 4 * cost(1)) / 12, 1e-3);
  EXPECT_NEAR(mean_link_cost(striped(), twelve(4, 0)), cost(1), 1e-3);
  EXPECT_NEAR(mean_link_cost(striped(), twelve(1, 0)), cost(1), 1e-9);
}

// The further workgroups are apart, the more tables they store at the same time.
TEST(ResultColumns, SpreadEvensOut) {
  for (const double per_round : {0.125, 0.5, 1., 4.}) {
    double before = mean_link_cost(striped(), twelve(per_round, 0));
    for (const double spread : {0.05, 0.14, 0.4, 1.}) {
      const double with = mean_link_cost(striped(), twelve(per_round, spread));
      EXPECT_LE(with, before + 1e-9) << per_round << " " << spread;
      before = with;
    }
  }
}

// A random walk of n steps is sqrt(n) steps wide: tasks that are four times as short spread over half as many tables if
// each varies as before, and over as many if each varies twice as much. The two ways to compute the spread agree.
TEST(ResultColumns, ManyRounds) {
  const double four_tasks = mean_link_cost(striped(), twelve(0.2, 0.5));
  EXPECT_NEAR(mean_link_cost(striped(), twelve(0.05, 1)), four_tasks, 1e-2);
  EXPECT_NEAR(mean_link_cost(striped(), twelve(0.0125, 2)), four_tasks, 1e-2);
  EXPECT_GT(mean_link_cost(striped(), twelve(0.05, 0.5)), four_tasks + 0.02);
}

// Ports of the same size change nothing. Behind ports of 3 and of 1 CUs, half of the stores are by workgroups that are
// three times as far, and therefore in other tables most of the time.
TEST(ResultColumns, WorkgroupsBehindSmallPortsAreAhead) {
  ResultColumns columns = twelve(0.5, 0);
  columns.ports = {4, 4, 4};
  EXPECT_NEAR(mean_link_cost(striped(), columns), cost(1), 1e-9);
  columns.ports = {3, 1};
  const double apart = mean_link_cost(striped(), columns);
  EXPECT_LT(apart, cost(0.9));
  columns.ports = {1, 3};
  EXPECT_EQ(mean_link_cost(striped(), columns), apart);
}

// Workgroups are further apart when they store to the second destination, and still further for the third.
TEST(ResultColumns, LaterDestinationsUseMoreLinks) {
  ResultColumns columns = twelve(0.5, 0.3);
  double before = mean_link_cost(striped(), columns);
  for (columns.turns = 2; columns.turns <= 8; ++columns.turns) {
    const double with = mean_link_cost(striped(), columns);
    EXPECT_LT(with, before) << columns.turns;
    before = with;
  }
}

// What workgroups had done while links were full (traces/h200x2/progress.csv): behind ports of 6 SMs n tasks with a
// standard deviation of progress_spread x sqrt(n), behind ports of 4 nearly 1.5 times as many. A point whose memory is
// busier than its links has no fast workgroups, and is left out.
TEST(ResultColumns, TheH200sSpreadIsTheMeasuredOne) {
  struct Point {
    double spread = 0, ahead = 0;
    int spreads = 0, pairs = 0;
  };
  std::map<std::string, Point> points;
  double slow = 0;
  for (const support::CsvRow& row : support::csv_table("traces/h200x2/progress.csv")) {
    Point& point = points[row.at("point")];
    const double tasks = std::stod(row.at("tasks"));
    if (row.at("kind") == "fast") {
      if (tasks >= 4) point.ahead += tasks / slow, ++point.pairs;
      continue;
    }
    slow = tasks;
    if (tasks >= 2) point.spread += std::stod(row.at("deviation")) / std::sqrt(tasks), ++point.spreads;
  }
  double sum = 0;
  int full = 0;
  for (const auto& [name, point] : points) {
    if (point.pairs == 0) continue;
    EXPECT_NEAR(point.ahead / point.pairs, 1.45, 0.03) << name;
    sum += point.spread / point.spreads;
    ++full;
  }
  EXPECT_EQ(full, 6);
  EXPECT_NEAR(sum / full, support::shipped_gpu("h200").compute.progress_spread, 0.01);
}

// The rates at which two fused embeddings filled the links of an H200 (traces/h200x2/progress.csv), of 368 GB/s if all
// links are used alike: 24 tables of 1 KiB and 12 of 512 B.
TEST(ResultColumns, AsMeasured) {
  const machine::GpuSpec gpu = support::shipped_gpu("h200");
  ResultColumns columns{.vector_bytes = 1024, .tables = 24, .ranks = 2, .gpus = 2, .tables_per_round = 528 * 4 / 8192.};
  columns.ports = gpu.compute.ports;
  columns.progress_spread = gpu.compute.progress_spread;
  EXPECT_NEAR(mean_link_cost(gpu.port, columns), 368. / 288, 0.05);
  columns.vector_bytes = 512;
  columns.tables = 12;
  columns.tables_per_round = 396 * 16 / 8192.;
  EXPECT_NEAR(mean_link_cost(gpu.port, columns), 368. / 270, 0.05);
}

TEST(ResultColumns, OtherRowsUseAllLinks) {
  ResultColumns columns = twelve(1, 0);
  columns.tables = 16;  // rows of 16 KiB, which begin in all groups in turn
  EXPECT_EQ(mean_link_cost(striped(), columns), 1);
  EXPECT_EQ(mean_link_cost(link::PortSpec{}, twelve(1, 0)), 1) << "a port without stripes";
}

// Any sizes end soon, with a cost between that of all groups and that of one.
TEST(ResultColumns, AnySizes) {
  for (const std::int64_t vector : {16, 36, 100, 384, 3072, 65536}) {
    for (const std::int64_t tables : {1, 3, 50, 600}) {
      for (const double per_round : {1e-6, 1e-2, 0.7, 50.}) {
        const double one = mean_link_cost(striped(), {.vector_bytes = vector,
                                                      .tables = tables,
                                                      .ranks = 6,
                                                      .gpus = 3,
                                                      .tables_per_round = per_round,
                                                      .progress_spread = 0.31});
        EXPECT_GE(one, 1 - 1e-9) << vector << " " << tables << " " << per_round;
        EXPECT_LE(one, cost(1) + 1e-9) << vector << " " << tables << " " << per_round;
      }
    }
  }
}

}  // namespace
}  // namespace moire::kernel
