// Compares the traces in this repository with their replay and with the generated kernel of the same shape.
#include "app/evidence/wg_compare/simulate.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>

#include "app/evidence/wg_compare/compare.hpp"
#include "app/evidence/wg_compare/trace.hpp"
#include "app/study/prepare.hpp"
#include "app/study/simulate.hpp"
#include "sim/program/wg_trace_reader.hpp"
#include "tests/support/source_dir.hpp"

namespace moire::wg_compare {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

const std::filesystem::path root = support::source_dir();
const std::filesystem::path trace_file = root / "traces/h200x4/fused_embedding_alltoall.wgtrace.csv.zst";

Trace trace() {
  config::Diagnostics diagnostics;
  program::WgTraceFiles files;
  auto trace = read_trace(trace_file, files, diagnostics);
  EXPECT_TRUE(trace) << diagnostics.str();
  return *trace;
}

study::PreparedStudy prepared(const std::filesystem::path& file, const std::vector<std::string>& sets) {
  config::Diagnostics diagnostics;
  study::Preparer preparer;
  auto scenario = study::load_scenario(file, sets, diagnostics);
  EXPECT_TRUE(scenario && diagnostics.ok()) << diagnostics.str();
  auto study = study::prepare_runs(std::move(*scenario), preparer, diagnostics);
  EXPECT_TRUE(study) << diagnostics.str();
  return *study;
}

std::filesystem::path temporary_scenario(const std::string& program) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("moire_wg_compare_" + std::to_string(getpid()) + ".yaml");
  std::ofstream(file) << "description: of a test\n"
                      << "system: " << (root / "configs/systems/4xh200.yaml").string() << "\n"
                      << "program: " << program << "\n";
  return file;
}

double metric(const std::vector<study::Metric>& metrics, const std::string& name) {
  for (const study::Metric& metric : metrics) {
    if (metric.name == name) return metric.value;
  }
  ADD_FAILURE() << name;
  return 0;
}

TEST(WgComparison, OfAReplay) {
  const Trace measured = trace();
  const study::PreparedStudy replay = prepared(root / "configs/scenarios/h200x4_trace.yaml", {});
  const Recorded simulated = simulate_recorded(*replay.run(0), measured.record.kernel);
  ASSERT_TRUE(simulated.record);
  EXPECT_EQ(simulated.record->kernel, measured.record.kernel);

  // The metrics of the run must agree with the record.
  const study::RunResult run = simulate(*replay.run(0), nullptr);
  const double to_peers =
      replay.run(0)->system->node.gpu.port.store_latency.us();  // the end of a kernel that stored there
  EXPECT_DOUBLE_EQ(simulated.record->makespan.us() + to_peers,
                   metric(run.metrics, "fused_embedding_alltoall_kernel_us"));
  EXPECT_DOUBLE_EQ(measured.record.makespan.us(), metric(run.metrics, "recorded_fused_embedding_alltoall_kernel_us"));
  double bytes = 0;
  for (const Store& store : simulated.record->stores) bytes += store.bytes;
  EXPECT_DOUBLE_EQ(bytes, metric(run.metrics, "scale_up_bytes"));

  const Comparison result = compare(measured.record, *simulated.record);
  EXPECT_THAT(result.mismatches, IsEmpty());
  EXPECT_THAT(result.metrics, SizeIs(metric_infos().size()));
}

// If gathers take their recorded times, a simulated task takes its recorded time without the time to issue its stores.
TEST(WgComparison, OfAReplayWithRecordedTimes) {
  config::Diagnostics diagnostics;
  auto reader = program::WgTraceReader::open(trace_file, diagnostics);
  Time computing;
  std::size_t tasks = 0;
  for (program::WgTraceRow row; reader->next(row);) {
    if (row.kind == program::WgTraceRow::Kind::wait) continue;
    computing += program::whole_ns(row.compute_end_ns - row.start_ns);
    ++tasks;
  }
  const study::PreparedStudy replay = prepared(root / "configs/scenarios/h200x4_trace.yaml", {});
  ASSERT_EQ(replay.scenario.variants[2].name, "recorded gathers");
  const Recorded simulated = simulate_recorded(*replay.run(2), reader->header().kernel);
  ASSERT_TRUE(simulated.record);
  Time simulating;
  for (const Task& task : simulated.record->tasks) simulating += task.end - task.begin;
  EXPECT_EQ(simulated.record->tasks.size(), tasks);
  EXPECT_EQ(simulating, computing);
}

// From the trace's header, the generator must make the recorded tasks and bytes of every rank and link.
TEST(WgComparison, OfTheGeneratedKernel) {
  const Trace measured = trace();
  const std::filesystem::path file =
      temporary_scenario("{queues: {main: [{embedding_all_to_all: {schedule: fused, index_bytes: 4 B}}]}}");
  const study::PreparedStudy generated =
      prepared(file, shape_sets(measured.header, "program.queues.main.0.embedding_all_to_all"));
  const Recorded simulated = simulate_recorded(*generated.run(0), measured.record.kernel);
  std::filesystem::remove(file);
  ASSERT_TRUE(simulated.record);
  EXPECT_EQ(simulated.record->kernel, "fused_embedding");
  const Comparison result = compare(measured.record, *simulated.record);
  EXPECT_THAT(result.mismatches, IsEmpty());
  EXPECT_THAT(result.metrics, SizeIs(metric_infos().size()));
  EXPECT_EQ(simulated.record->workgroups_per_rank, measured.record.workgroups_per_rank);
}

// It is not clear which of two kernels the trace belongs to; the result lists both.
TEST(WgComparison, OfAScenarioWithOtherKernels) {
  const std::filesystem::path file =
      temporary_scenario("{queues: {main: [{gemm: {m: 1024, n: 1024, k: 64}}, {gemm: {m: 1024, n: 1024, k: 64}}]}}");
  const study::PreparedStudy two = prepared(file, {});
  const Recorded simulated = simulate_recorded(*two.run(0), "fused_embedding_alltoall");
  std::filesystem::remove(file);
  EXPECT_FALSE(simulated.record);
  EXPECT_THAT(simulated.deadlock, IsEmpty());
  EXPECT_THAT(simulated.kernels, SizeIs(2));
}

}  // namespace
}  // namespace moire::wg_compare
