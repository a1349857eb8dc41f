// Tests of version 2 of WG traces, in which each row is a step of a workgroup.
#include <gmock/gmock.h>

#include <sstream>

#include "sim/program/wg_trace_reader.hpp"
#include "sim/program/wg_trace_writer.hpp"

namespace moire::program {
namespace {

using ::testing::HasSubstr;

const std::string header =
    "# moire-wgtrace 2\n# ranks: 2\n# kernel: gemm_put\n# wgs_per_rank: 2\n# threads_per_wg: 256\n"
    "# registers_per_thread: 40\n# lds_bytes_per_wg: 0\n# bytes_in_flight_per_wg: 8192\n# recorded_end_ns: 300\n"
    "kind,rank,wg,task,cu,peer,start_ns,end_ns,bytes,flop,unit,flag,count\n";
const std::string rows =
    "work,0,0,0,5,0,100,150,4096,1024,matrix_bf16,-1,0\n"
    "store,0,0,0,5,1,150,155,512,0,-,-1,0\n"
    "fence,0,0,0,5,0,155,160,0,0,-,-1,0\n"
    "signal,0,0,0,5,1,160,160,0,0,-,3,0\n"
    "wait,0,0,-1,5,1,160,200,0,0,-,0,1\n"
    "work,0,0,1,5,0,210,220,0,77,vector_fp32,-1,0\n"
    "work,0,1,2,6,1,90,120,64,0,-,-1,0\n"
    "put,1,0,0,5,0,80,90,64,0,-,0,0\n"
    "wait,1,0,0,5,0,90,300,0,0,-,3,1\n";

struct Result {
  std::optional<WgTraceHeader> header;
  std::vector<WgTraceRow> rows;
  std::string errors;
};

Result read(const std::string& text) {
  config::Diagnostics diagnostics;
  Result result;
  auto reader = WgTraceReader::from(std::make_unique<std::istringstream>(text), false, "t.csv", diagnostics);
  if (reader) {
    result.header = reader->header();
    for (WgTraceRow row; reader->next(row);) result.rows.push_back(row);
  }
  result.errors = diagnostics.str();
  return result;
}

TEST(WgTraceSteps, ReadsWhatAStepSays) {
  const Result result = read(header + rows);
  EXPECT_EQ(result.errors, "");
  ASSERT_EQ(result.rows.size(), 9);
  EXPECT_EQ(result.header->version, 2);
  EXPECT_EQ(result.rows[0].unit, WgTraceRow::Unit::matrix_bf16);
  EXPECT_EQ(result.rows[0].bytes, 4096);
  EXPECT_EQ(result.rows[3].kind, WgTraceRow::Kind::signal);
  EXPECT_EQ(result.rows[3].flag, 3);
  EXPECT_EQ(result.rows[4].count, 1);
  EXPECT_EQ(result.rows[6].peer, 1);
}

TEST(WgTraceSteps, WritingGivesTheSameBytes) {
  const Result result = read(header + rows);
  std::ostringstream bytes;
  config::Diagnostics diagnostics;
  auto writer =
      WgTraceWriter::to(std::make_unique<std::ostream>(bytes.rdbuf()), false, "out", *result.header, diagnostics);
  ASSERT_TRUE(writer) << diagnostics.str();
  for (const WgTraceRow& row : result.rows) writer->add(row);
  EXPECT_TRUE(writer->finish()) << diagnostics.str();
  EXPECT_EQ(bytes.str(), header + rows);
}

TEST(WgTraceSteps, ErrorsNameLineColumnAndRemedy) {
  const auto error = [](const std::string& from, const std::string& to) {
    std::string text = header + rows;
    text.replace(text.find(from), from.size(), to);
    return read(text).errors;
  };
  EXPECT_THAT(error("work,0,0,0,5,0,100", "task,0,0,0,5,0,100"), HasSubstr("t.csv:11:1: unknown kind 'task'; "));
  EXPECT_THAT(error("matrix_bf16", "tensor_bf16"), HasSubstr("t.csv:11:34: unknown unit 'tensor_bf16'; "));
  EXPECT_THAT(error("1024,matrix_bf16", "1024,-"), HasSubstr("t.csv:11:34: the row has 1024 FLOP and the unit -; "));
  EXPECT_THAT(error("160,160,0,0,-,3,0", "160,160,0,0,-,-1,0"), HasSubstr("a signal has no flag"));
  EXPECT_THAT(error("150,155,512", "150,155,0"), HasSubstr("a store has no bytes; leave the row out"));
  EXPECT_THAT(error("155,160,0,0,-,-1,0", "155,160,0,9,-,-1,0"), HasSubstr("a fence has a value of 'flop'"));
  EXPECT_THAT(error("fence,0,0,0,5,0,155", "fence,0,0,0,5,0,140"),
              HasSubstr("t.csv:13:17: rows are not sorted: (rank, wg, start_ns) = (0, 0, 140) after (0, 0, 150)"));
  EXPECT_THAT(error(",flag,count", ",count,flag"), HasSubstr("the columns are in another order"));
}

}  // namespace
}  // namespace moire::program
