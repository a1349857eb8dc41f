#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "models/workload/operators/registry.hpp"
#include "tests/support/example_equipped.hpp"
#include "tests/support/example_program.hpp"

namespace moire::kernel {
namespace {

using libraries::EquippedSystem;
using libraries::example_equipped;
using program::Rank;
using ::testing::HasSubstr;

class WgTraceReplay : public ::testing::Test {
 protected:
  WgTraceReplay() {
    folder_ =
        std::filesystem::path(::testing::TempDir()) / ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directories(folder_);
  }
  ~WgTraceReplay() override { std::filesystem::remove_all(folder_); }

  void write(int version, const std::string& rows, int workgroups = 2) {
    std::int64_t end = 0;
    std::istringstream lines(rows);
    for (std::string line; std::getline(lines, line);) {
      std::vector<std::string> fields(1);
      for (const char c : line) c == ',' ? (void)fields.emplace_back() : (void)(fields.back() += c);
      end = std::max<std::int64_t>(end, std::stoll(fields[version == 1 ? 8 : 7]));
    }
    std::ofstream(folder_ / "t.csv") << "# moire-wgtrace " << version
                                     << "\n# ranks: 2\n# kernel: k\n# wgs_per_rank: " << workgroups
                                     << "\n# threads_per_wg: 1024\n# registers_per_thread: 32\n# lds_bytes_per_wg: 0\n"
                                     << "# bytes_in_flight_per_wg: 40000\n# recorded_end_ns: " << end << "\n"
                                     << program::wg_trace_header_row(version) << "\n"
                                     << rows;
  }
  std::unique_ptr<program::Program> build(const std::string& keys, const EquippedSystem& system, std::string& errors) {
    config::Diagnostics diagnostics;
    const auto root = config::load_text(
        "p.yaml", "queues: {main: [{wg_trace: {file: " + (folder_ / "t.csv").string() + keys + "}}]}\n", {},
        diagnostics);
    program::WgTraceFiles traces;
    auto program = root ? operators::build_program(*root, system, traces, diagnostics).program : nullptr;
    errors = diagnostics.str();
    return program;
  }
  replay::Result run(const std::string& keys = "", const EquippedSystem& system = example_equipped(2)) {
    std::string errors;
    const auto program = build(keys, system, errors);
    EXPECT_EQ(errors, "");
    return program ? replay::run(system, *program) : replay::Result{};
  }
  std::string errors_of(const std::string& keys = "", const EquippedSystem& system = example_equipped(2)) {
    std::string errors;
    EXPECT_EQ(build(keys, system, errors), nullptr);
    return errors;
  }

 private:
  std::filesystem::path folder_;
};

TEST_F(WgTraceReplay, FlopsOfATaskTakeTheTimeOfTheirUnit) {
  const auto kernel = [&](const std::string& unit) {
    write(2, "work,0,0,0,0,0,0,10,0,100000000," + unit + ",-1,0\nwork,1,0,0,0,1,0,10,0,1,vector_fp32,-1,0\n", 1);
    const replay::Result result = run();
    return result.rank_end[0] - result.rank_end[1];
  };
  EXPECT_NEAR(kernel("vector_fp32").us(), 100, 0.01);  // at 1 TFLOP/s per CU
  EXPECT_NEAR(kernel("matrix_bf16").us(), 20, 0.01);   // at 5 TFLOP/s per CU
}

TEST_F(WgTraceReplay, ATaskOfVersion1ThatOnlyComputesTakesItsTime) {
  const auto time = [&](const std::string& unit) {
    write(1, "task,0,0,0,0,0,0,9,10,0,100000000,0\ntask,0,0,1,0,0,10,19,20,4096,0,0\ntask,1,0,0,0,1,0,9,10,4096,0,0\n",
          1);
    const replay::Result result = run(", row: 256 B, unit: " + unit);
    return (result.rank_end[0] - result.rank_end[1]).us();
  };
  EXPECT_NEAR(time("vector"), 100, 1);
  EXPECT_NEAR(time("matrix"), 20, 1);
}

TEST_F(WgTraceReplay, WaitsAndFlagsStandWhereTheyWereRecorded) {
  const std::string other = "work,1,0,0,0,1,0,10,0,50000000,vector_fp32,-1,0\nsignal,1,0,0,0,0,10,10,0,0,-,2,0\n";
  const std::string wait = "wait,0,0,0,0,1,0,10,0,0,-,2,1\n";
  const std::string work = "work,0,0,1,0,0,0,10,0,50000000,vector_fp32,-1,0\n";
  write(2, wait + work + other, 1);
  const Time first = run().rank_end[0];
  write(2, work + wait + other, 1);
  const Time last = run().rank_end[0];
  EXPECT_NEAR((first - last).us(), 50, 1);
}

TEST_F(WgTraceReplay, GapsAreKeptWhereAsked) {
  write(2,
        "work,0,0,0,0,0,0,10,0,1000,vector_fp32,-1,0\nwork,0,0,0,0,0,7010,7020,0,1000,vector_fp32,-1,0\n"
        "work,1,0,0,0,1,0,10,0,1000,vector_fp32,-1,0\n",
        1);
  EXPECT_NEAR((run(", gaps: kept").end - run().end).us(), 7, 0.001);
}

TEST_F(WgTraceReplay, BeyondTheNodeStoresArePutWithTheirFlag) {
  const std::string rows =
      "store,0,0,0,0,1,0,10,3000,0,-,-1,0\nfence,0,0,0,0,0,10,20,0,0,-,-1,0\nsignal,0,0,0,0,1,20,20,0,0,-,0,0\n"
      "wait,1,0,0,0,0,0,30,0,0,-,0,1\n";
  write(2, rows, 1);
  EXPECT_EQ(run().traffic.scale_up_bytes, Bytes{3000});
  const replay::Result far = run("", example_equipped(1, 2, link::Wiring::none));
  EXPECT_EQ(far.deadlock, "");
  EXPECT_EQ(far.traffic.puts, 1);
  EXPECT_EQ(far.traffic.put_bytes, Bytes{3000});
}

// A trace of two ranks, each with two tasks for the other rank and two for itself.
constexpr const char* four_tasks =
    "task,0,0,0,0,1,0,9,10,4096,0,512\ntask,0,1,1,0,1,0,9,10,4096,0,512\ntask,0,0,2,0,0,10,19,20,4096,0,512\n"
    "task,0,1,3,0,0,10,19,20,4096,0,512\ntask,1,0,0,0,0,0,9,10,4096,0,512\ntask,1,1,1,0,0,0,9,10,4096,0,512\n"
    "task,1,0,2,0,1,10,19,20,4096,0,512\ntask,1,1,3,0,1,10,19,20,4096,0,512\n";

TEST_F(WgTraceReplay, OnMoreRanksTasksAreSplitOrRepeatedAsTheRuleSays) {
  write(1, four_tasks);
  const replay::Result recorded = run(", row: 256 B");
  EXPECT_EQ(recorded.traffic.scale_up_bytes, Bytes{2 * 2 * 512});
  const EquippedSystem four = example_equipped(4);
  const replay::Result split = run(", row: 256 B, ranks: split", four);
  EXPECT_EQ(split.deadlock, "");
  EXPECT_EQ(split.traffic.scale_up_bytes, Bytes{4 * 3 * 512});
  const replay::Result repeated = run(", row: 256 B, ranks: repeat", four);
  EXPECT_EQ(repeated.deadlock, "");
  EXPECT_EQ(repeated.traffic.scale_up_bytes, Bytes{4 * 6 * 512});
}

TEST_F(WgTraceReplay, WhereTheRuleDoesNotSayWhatARankDoesItIsRefused) {
  write(1, four_tasks);
  EXPECT_THAT(errors_of(", row: 256 B", example_equipped(4)),
              HasSubstr("the trace has 2 ranks, but the system has 4; write ranks: split or ranks: repeat"));
  EXPECT_THAT(errors_of(", row: 256 B, ranks: split", example_equipped(3)), HasSubstr("which is not a multiple"));
  EXPECT_THAT(errors_of(", row: 256 B, ranks: split", example_equipped(8)),
              HasSubstr("rank 0 has 2 tasks for rank 1, which cannot be divided evenly among 4 ranks"));
  write(2, "work,0,0,0,0,0,0,10,64,0,-,-1,0\nwork,1,0,0,0,1,0,10,64,0,-,-1,0\n", 1);
  EXPECT_THAT(errors_of(", ranks: split", example_equipped(4)), HasSubstr("run it in groups of 2 ranks (group:)"));
}

TEST_F(WgTraceReplay, WhatCannotBeReplayedIsRefused) {
  write(2, "wait,0,0,0,0,1,0,10,0,0,-,0,2\nsignal,1,0,0,0,0,0,0,0,0,-,0,0\n", 1);
  EXPECT_THAT(errors_of(), HasSubstr("rank 0 waits until flag 0 was raised 2 times, but the trace raises it 1 times"));
  write(2, "work,0,0,0,0,1,0,10,64,0,-,-1,0\nwork,1,0,0,0,1,0,10,64,0,-,-1,0\n", 1);
  EXPECT_THAT(errors_of("", example_equipped(1, 2, link::Wiring::none)),
              HasSubstr("rank 0 loads from the memory of rank 1, which is on another node"));
  write(2, "wait,0,0,0,0,1,0,10,0,0,-,0,1\nsignal,1,0,0,0,0,0,0,0,0,-,0,0\n", 100);
  EXPECT_THAT(errors_of(),
              HasSubstr("100 workgroups per GPU wait for each other, but example holds only 8 of them at once"));
  write(1, "wait,0,0,-1,0,1,0,10,10,0,0,0\ntask,0,0,0,0,0,10,19,20,4096,0,0\ntask,1,0,0,0,1,0,9,10,4096,0,0\n", 1);
  EXPECT_THAT(errors_of(", row: 256 B"), HasSubstr("waits between its tasks (before task 0)"));
  write(1, "task,0,0,0,0,0,10,19,20,4096,0,0\ntask,1,0,0,0,1,0,9,10,4096,0,0\n", 1);
  EXPECT_THAT(errors_of(), HasSubstr("a trace of version 1 gathers rows, but their size is missing; write row: 256 B"));
}

}  // namespace
}  // namespace moire::kernel
