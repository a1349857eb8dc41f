#include "app/evidence/wg_compare/compare.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <stdexcept>

namespace moire::wg_compare {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr Time us(std::int64_t n) { return Time{n * 1'000'000}; }

// Returns a record of two ranks with 2 workgroups each. Each workgroup has 4 consecutive tasks of 10 us. Every second
// task stores 64 B to the other rank in its last microsecond.
Record example() {
  Record record;
  record.kernel = "fused";
  record.ranks = 2;
  record.workgroups_per_rank = 2;
  record.makespan = us(40);
  for (Rank rank = 0; rank < 2; ++rank) {
    for (std::int64_t workgroup = 0; workgroup < 2; ++workgroup) {
      for (std::int64_t k = 0; k < 4; ++k) {
        record.tasks.push_back({rank, workgroup, static_cast<std::uint32_t>(workgroup), us(10 * k), us(10 * k + 10)});
        if (k % 2 == 1) continue;
        record.stores.push_back({rank, 1 - rank, us(10 * k + 9), us(10 * k + 10), us(10 * k + 10), 64});
      }
    }
  }
  return record;
}

Record shifted(Record record, Time by) {
  record.makespan += by;
  for (Task& task : record.tasks) task.begin += by, task.end += by;
  for (Store& store : record.stores) store.begin += by, store.end += by, store.arrived += by;
  return record;
}

double metric(const Comparison& comparison, const std::string& name) {
  for (const study::Metric& metric : comparison.metrics) {
    if (metric.name == name) return metric.value;
  }
  throw std::out_of_range(name);
}

Pair pair(const Comparison& comparison, const std::string& name) {
  for (const Pair& pair : comparison.pairs) {
    if (pair.name == name) return pair;
  }
  throw std::out_of_range(name);
}

TEST(Compare, ARecordWithItselfDiffersNowhere) {
  const Comparison same = compare(example(), example());
  EXPECT_THAT(same.mismatches, IsEmpty());
  for (const study::Metric& metric : same.metrics) EXPECT_EQ(metric.value, 0) << metric.name;
  for (const Pair& pair : same.pairs) EXPECT_EQ(pair.measured, pair.simulated) << pair.name;
}

TEST(Compare, MetricsAreThoseThatAreExplained) {
  const Comparison same = compare(example(), example());
  ASSERT_EQ(same.metrics.size(), metric_infos().size());
  for (std::size_t i = 0; i < same.metrics.size(); ++i) EXPECT_EQ(same.metrics[i].name, metric_infos()[i].name);
}

// The simulation is 4 us late in a makespan of 40 us, so all times and bytes differ by 10 %. Occupancy is too low for
// 4 us at the start and too high for 4 us at the end.
TEST(Compare, AShiftIsFoundExactly) {
  const Comparison late = compare(example(), shifted(example(), us(4)));
  EXPECT_DOUBLE_EQ(metric(late, "makespan_error_percent"), 10);
  EXPECT_DOUBLE_EQ(metric(late, "start_distribution_difference_percent"), 10);
  EXPECT_DOUBLE_EQ(metric(late, "end_distribution_difference_percent"), 10);
  EXPECT_DOUBLE_EQ(metric(late, "link_bytes_difference_percent"), 10);
  EXPECT_DOUBLE_EQ(metric(late, "link_bytes_worst_difference_percent"), 10);
  EXPECT_DOUBLE_EQ(metric(late, "occupancy_difference_percent"), 20);
  EXPECT_DOUBLE_EQ(metric(late, "task_time_error_percent"), 0);
  EXPECT_DOUBLE_EQ(metric(late, "cu_task_time_difference_percent"), 0);
  EXPECT_DOUBLE_EQ(pair(late, "task_start_p50_us").measured, 15);
  EXPECT_DOUBLE_EQ(pair(late, "task_start_p50_us").simulated, 19);
  EXPECT_DOUBLE_EQ(pair(late, "wave_3_start_p90_us").measured, 20);
  EXPECT_DOUBLE_EQ(pair(late, "wave_3_start_p90_us").simulated, 24);
}

// Errors in both directions must not cancel.
TEST(Compare, DistancesDoNotCancel) {
  Record mixed = example();
  mixed.makespan = us(42);
  for (Task& task : mixed.tasks) {
    if (task.end == us(40)) task.end += task.workgroup == 0 ? us(2) : us(-2);
  }
  const Comparison result = compare(example(), mixed);
  EXPECT_DOUBLE_EQ(metric(result, "task_time_error_percent"), 0);
  EXPECT_DOUBLE_EQ(metric(result, "end_distribution_difference_percent"), 100 * (2.0 / 4) / 40);
  // Half of the slots differ, for 2 us before and 2 us after 40 us.
  EXPECT_DOUBLE_EQ(metric(result, "occupancy_difference_percent"), 100 * (2 + 2) * 0.5 / 40);
  // The mean task time is 10 us on all 4 CUs of `example`, but 9.5 us on two and 10.5 us on two CUs of `mixed`.
  EXPECT_DOUBLE_EQ(metric(result, "cu_task_time_difference_percent"), 5);
  EXPECT_DOUBLE_EQ(pair(result, "cu_task_p0_us").simulated, 9.5);
  EXPECT_DOUBLE_EQ(pair(result, "cu_task_p100_us").simulated, 10.5);
}

// Bytes over one link are 8 us early in a makespan of 40 us; bytes over the other link are on time.
TEST(Compare, TheWorstLinkIsTold) {
  Record early = example();
  for (Store& store : early.stores) {
    if (store.source == 1) store.begin += us(-8), store.end += us(-8), store.arrived += us(-8);
  }
  const Comparison result = compare(example(), early);
  EXPECT_DOUBLE_EQ(metric(result, "link_bytes_worst_difference_percent"), 20);
  EXPECT_DOUBLE_EQ(metric(result, "link_bytes_difference_percent"), 10);
}

TEST(Compare, CountsWavesAndWorkgroups) {
  Record wide = example();  // the same tasks on 4 workgroups of each rank
  wide.workgroups_per_rank = 4;
  for (Task& task : wide.tasks) {
    if (task.begin >= us(20)) task.workgroup += 2;
  }
  const Comparison result = compare(example(), wide);
  EXPECT_EQ(pair(result, "waves").measured, 4);
  EXPECT_EQ(pair(result, "waves").simulated, 2);
  EXPECT_EQ(pair(result, "workgroups_per_rank").simulated, 4);
  EXPECT_EQ(metric(result, "occupancy_difference_percent"), 0);
}

// One of 2 workgroups on each of 2 ranks starts all of its tasks 5 us later. The 10th and 90th percentiles of 0, 0, 5,
// 5 are 5 us apart.
TEST(Compare, WorkgroupsThatDriftApart) {
  Record drifted = example();
  for (Task& task : drifted.tasks) {
    if (task.workgroup == 1) task.begin += us(5), task.end += us(5);
  }
  const Pair spread = pair(compare(example(), drifted), "wave_start_p10_to_p90_mean_us");
  EXPECT_DOUBLE_EQ(spread.measured, 0);
  EXPECT_DOUBLE_EQ(spread.simulated, 5);
}

MATCHER_P(Says, part, "") { return arg.str().find(part) != std::string::npos; }

TEST(Compare, OtherWorkIsAMismatch) {
  Record fewer = example();
  fewer.tasks.pop_back();
  EXPECT_THAT(compare(example(), fewer).mismatches,
              ElementsAre(Says("rank 1 has 7 tasks in the simulation, but 8 in the trace; give")));
  Record elsewhere = example();
  elsewhere.stores.front().bytes = 65;
  const Comparison bytes = compare(example(), elsewhere);
  EXPECT_THAT(bytes.mismatches,
              ElementsAre(Says("rank 0 stores 257 B to rank 1 in the simulation, but 256 B in the trace; give")));
  EXPECT_THAT(bytes.metrics, IsEmpty());
  EXPECT_THAT(bytes.figures, IsEmpty());
  Record larger = example();
  larger.ranks = 3;
  EXPECT_THAT(compare(example(), larger).mismatches, ElementsAre(Says("3 ranks, but the trace has 2; give")));
  Record silent = example();
  silent.stores.clear();
  EXPECT_THAT(compare(silent, example()).mismatches, ElementsAre(Says("256 B to rank 1 in the simulation, but 0 B")));
}

TEST(Compare, AKernelWithoutRemoteStoresIsCompared) {
  Record local = example();
  local.stores.clear();
  const Comparison result = compare(local, shifted(local, us(4)));
  EXPECT_THAT(result.mismatches, IsEmpty());
  EXPECT_EQ(metric(result, "link_bytes_difference_percent"), 0);
  EXPECT_THAT(result.figures, SizeIs(3));
}

TEST(Figures, ShowBothSides) {
  Record simulated = shifted(example(), us(4));
  simulated.knows_arrivals = true;
  const Comparison result = compare(example(), simulated);
  ASSERT_THAT(result.figures, SizeIs(4));
  for (const report::Figure& figure : result.figures) {
    EXPECT_THAT(figure.title, Not(IsEmpty()));
    EXPECT_THAT(figure.series, Not(IsEmpty())) << figure.title;
    EXPECT_THAT(report::svg(figure), HasSubstr(figure.title));
    for (const report::Series& series : figure.series) {
      EXPECT_EQ(series.x.size(), series.y.size()) << series.name;
      EXPECT_LE(series.x.size(), 2000u) << series.name;
    }
  }
  const report::Figure& dates = result.figures[0];
  EXPECT_EQ(dates.series[0].x.front(), 0);
  EXPECT_EQ(dates.series[1].x.front(), 4);
  EXPECT_EQ(dates.series[3].x.back(), 44);
  EXPECT_EQ(dates.series[3].y.back(), 100);
  const report::Figure& links = result.figures[2];
  for (const report::Series& series : links.series) EXPECT_NEAR(series.y.back(), 256e-6, 1e-12) << series.name;
}

// The area under the curve of tasks in flight equals the time spent in tasks.
TEST(Figures, OccupancyKeepsTheTime) {
  const Comparison result = compare(example(), example());
  const report::Series& measured = result.figures[1].series[0];
  double area = 0;
  for (const double in_flight : measured.y) area += in_flight * measured.x[1];
  EXPECT_NEAR(area, 2 * 40, 1e-9);
}

}  // namespace
}  // namespace moire::wg_compare
