#include "app/evidence/wg_compare/trace.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>

namespace moire::wg_compare {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class TraceFile : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }
  std::optional<Trace> read(const std::string& text) {
    std::ofstream(path_) << text;
    program::WgTraceFiles files;
    return read_trace(path_, files, diagnostics_);
  }
  std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / ("moire_wg_compare_" + std::to_string(getpid()) + ".csv");
  config::Diagnostics diagnostics_;
};

const std::string metadata =
    "# moire-wgtrace 1\n"
    "# ranks: 2\n"
    "# kernel: fused\n"
    "# wgs_per_rank: 4\n"
    "# threads_per_wg: 256\n"
    "# registers_per_thread: 40\n"
    "# lds_bytes_per_wg: 0\n"
    "# bytes_in_flight_per_wg: 8192\n"
    "# recorded_end_ns: 230\n";
const std::string rows =
    "kind,rank,wg,task,cu,peer,start_ns,compute_end_ns,end_ns,read_bytes,flop,store_bytes\n"
    "task,0,0,0,5,1,100,150,160,4096,1024,512\n"
    "task,0,1,1,6,0,100,150,160,4096,1024,512\n"
    "wait,0,0,-1,5,1,160,230,230,0,0,0\n"
    "task,1,3,0,7,0,90,140,160,4096,1024,256\n";

TEST_F(TraceFile, TimesCountFromTheFirstStart) {
  const auto trace = read(metadata + rows);
  ASSERT_TRUE(trace) << diagnostics_.str();
  const Record& record = trace->record;
  EXPECT_EQ(record.kernel, "fused");
  EXPECT_EQ(record.ranks, 2u);
  EXPECT_EQ(record.workgroups_per_rank, 4);
  EXPECT_EQ(record.makespan, Time::from_ns(140));
  EXPECT_FALSE(record.knows_arrivals);
  ASSERT_EQ(record.tasks.size(), 3u);
  EXPECT_EQ(record.tasks[0].begin, Time::from_ns(10));
  EXPECT_EQ(record.tasks[0].end, Time::from_ns(70));
  EXPECT_EQ(record.tasks[2].workgroup, 3);
  EXPECT_EQ(record.tasks[2].cu, 7u);
  ASSERT_EQ(record.stores.size(), 2u);  // the store to the rank's own memory does not count
  EXPECT_EQ(record.stores[0].source, 0u);
  EXPECT_EQ(record.stores[0].peer, 1u);
  EXPECT_EQ(record.stores[0].bytes, 512);
  EXPECT_EQ(record.stores[1].begin, Time::from_ns(50));
  EXPECT_EQ(record.stores[1].end, Time::from_ns(70));
}

TEST_F(TraceFile, AWrongTraceIsReported) {
  EXPECT_FALSE(read(metadata + rows + "task,1,3\n"));
  EXPECT_THAT(diagnostics_.str(), HasSubstr(".csv:15:"));
}

TEST(ShapeSets, AreTheOperatorsOwn) {
  program::WgTraceHeader header;
  header.threads_per_wg = 256;
  const std::string path = "program.queues.main.0.embedding_all_to_all";
  EXPECT_THAT(shape_sets(header, path), IsEmpty()) << "the header states no sizes";
  header.provenance = {{"shape", "dim=128"}};
  EXPECT_THAT(shape_sets(header, path), Contains(path + ".dim=128"));
  EXPECT_THAT(shape_sets(header, "program.queues.main.0.gemm"), IsEmpty()) << "a gemm reads no sizes from traces";
  EXPECT_THAT(shape_sets(header, "program.queues.main.0"), IsEmpty()) << "no operator";
}

}  // namespace
}  // namespace moire::wg_compare
