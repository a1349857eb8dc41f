#include "models/workload/kernel/embedding_columns.hpp"

#include <gmock/gmock.h>

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

// Tasks of many rounds are as if they were infinitely short: the two ways to compute their spread agree.
TEST(ResultColumns, ManyRounds) {
  const double short_tasks = mean_link_cost(striped(), twelve(0.01, 0.14));
  EXPECT_NEAR(mean_link_cost(striped(), twelve(0.02, 0.14)), short_tasks, 2e-3);
  EXPECT_NEAR(mean_link_cost(striped(), twelve(0.2, 0.14)), short_tasks, 1e-2);
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
                                                      .progress_spread = 0.14});
        EXPECT_GE(one, 1 - 1e-9) << vector << " " << tables << " " << per_round;
        EXPECT_LE(one, cost(1) + 1e-9) << vector << " " << tables << " " << per_round;
      }
    }
  }
}

}  // namespace
}  // namespace moire::kernel
