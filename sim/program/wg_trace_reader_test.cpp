#include "sim/program/wg_trace_reader.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "sim/formats/zstd_stream.hpp"
#include "sim/program/wg_trace_summary.hpp"

namespace moire::program {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

const std::string columns = "kind,rank,wg,task,cu,peer,start_ns,compute_end_ns,end_ns,read_bytes,flop,store_bytes\n";

// The metadata of a trace with two ranks. Its rows start at line 12.
const std::string metadata =
    "# moire-wgtrace 1\n"
    "# ranks: 2\n"
    "# kernel: embedding_all_to_all\n"
    "# wgs_per_rank: 4\n"
    "# threads_per_wg: 256\n"
    "# registers_per_thread: 40\n"
    "# lds_bytes_per_wg: 0\n"
    "# bytes_in_flight_per_wg: 8192\n"
    "# recorded_end_ns: 230\n"
    "# device: NVIDIA H200: driver 580\n";
const std::string header = metadata + columns;

const std::string rows =
    "task,0,0,0,5,1,100,150,160,4096,1024,512\n"
    "task,0,1,1,6,0,100,150,160,4096,1024,512\n"
    "wait,0,0,-1,5,1,160,230,230,0,0,0\n"
    "task,1,0,0,5,0,90,140,160,4096,1024,512\n";
constexpr int first_row = 12;

std::string compressed(const std::string& text) {
  std::ostringstream out;
  formats::ZstdEncoder encoder(out);
  encoder.write(text);
  encoder.finish();
  return out.str();
}

struct Result {
  std::optional<WgTraceHeader> header;
  std::vector<WgTraceRow> rows;
  std::string errors;
};

Result read(const std::string& bytes, bool zst = false) {
  config::Diagnostics diagnostics;
  Result result;
  auto reader = WgTraceReader::from(std::make_unique<std::istringstream>(bytes), zst, "t.csv", diagnostics);
  if (reader) {
    result.header = reader->header();
    for (WgTraceRow row; reader->next(row);) result.rows.push_back(row);
    EXPECT_EQ(reader->ok(), diagnostics.ok());
  }
  result.errors = diagnostics.str();
  return result;
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(WgTraceReader, ReadsMetadataAndRows) {
  const Result result = read(header + rows);
  EXPECT_THAT(result.errors, IsEmpty());
  ASSERT_TRUE(result.header);
  EXPECT_EQ(result.header->ranks, 2u);
  EXPECT_EQ(result.header->kernel, "embedding_all_to_all");
  EXPECT_EQ(result.header->wgs_per_rank, 4u);
  EXPECT_EQ(result.header->registers_per_thread, 40);
  EXPECT_EQ(result.header->bytes_in_flight_per_wg, 8192);
  EXPECT_EQ(result.header->recorded_end_ns, 230);
  ASSERT_EQ(result.header->provenance.size(), 1u);
  EXPECT_EQ(result.header->provenance[0].second, "NVIDIA H200: driver 580");
  ASSERT_EQ(result.rows.size(), 4u);
  const WgTraceRow first{WgTraceRow::Kind::task, 0, 0, 0, 5, 1, 100, 150, 160, 4096, 1024, 512};
  EXPECT_EQ(result.rows[0], first);
  EXPECT_EQ(result.rows[2].kind, WgTraceRow::Kind::wait);
  EXPECT_EQ(result.rows[2].task, WgTraceRow::no_task);
}

TEST(WgTraceReader, ReadsCompressedTextAlike) {
  const Result plain = read(header + rows);
  EXPECT_EQ(read(compressed(header + rows), true).rows, plain.rows);
  // The file consists of two zstd frames, as parallel compressors write them.
  const Result two = read(compressed(header) + compressed(rows), true);
  EXPECT_THAT(two.errors, IsEmpty());
  EXPECT_EQ(two.rows, plain.rows);
}

TEST(WgTraceReader, LinesOfCompressedTextAreThoseOfTheText) {
  const std::string wrong = replaced(header + rows, "task,1,0,0,5,0,90", "task,1,0,0,5,0,x");
  EXPECT_EQ(read(compressed(wrong), true).errors, read(wrong).errors);
  EXPECT_THAT(read(wrong).errors,
              StartsWith("t.csv:15:16: start_ns is 'x', not an integer; write an integer number of nanoseconds"));
}

struct Case {
  const char* name;
  std::string from;
  std::string to;
  std::string error;  // prefix of the first error
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

class WgTraceReaderErrors : public ::testing::TestWithParam<Case> {};

TEST_P(WgTraceReaderErrors, NameLineColumnAndRemedy) {
  const Result result = read(replaced(header + rows, GetParam().from, GetParam().to));
  EXPECT_THAT(result.errors, StartsWith("t.csv:" + GetParam().error));
  EXPECT_THAT(result.errors, HasSubstr("; ")) << "an error says what would be right";
}

const std::vector<Case> metadata_cases = {
    {"magic", "# moire-wgtrace 1", "kind,rank",
     "1:1: the file is not a WG trace: it begins with 'kind,rank'; line 1 must be '# moire-wgtrace 2'"},
    {"version", "wgtrace 1", "wgtrace 3",
     "1:17: version 3 is newer than version 2, the newest that this Moire reads; update Moire"},
    {"no_version", "wgtrace 1", "wgtrace one", "1:17: 'one' is not a version of the format"},
    {"empty_version", "wgtrace 1", "wgtrace", "1:16: '' is not a version of the format"},
    {"windows", "wgtrace 1\n", "wgtrace 1\r\n", "1:18: the line ends in a carriage return; save the file with Unix"},
    {"missing", "# ranks: 2\n", "",
     "10:1: metadata key 'ranks' is missing; write '# ranks: value' above the header row"},
    {"mistyped", "# wgs_per_rank", "# wg_per_rank",
     "4:1: metadata key 'wgs_per_rank' is missing; is 'wg_per_rank' meant to be this key?"},
    {"duplicate", "# device: NVIDIA H200", "# ranks: 3", "10:3: key 'ranks' is also on line 2; keep one of them"},
    {"unit", "8192", "8 KiB", "8:27: 'bytes_in_flight_per_wg' is '8 KiB', not an integer; write an integer from 1 to"},
    {"zero", "ranks: 2", "ranks: 0", "2:10: 'ranks' is '0', out of range; it can be 1 to 1048576"},
    {"huge", "ranks: 2", "ranks: 99999999999999999999", "2:10: 'ranks' is '99999999999999999999', out of range"},
    {"negative", "lds_bytes_per_wg: 0", "lds_bytes_per_wg: -1", "7:21: 'lds_bytes_per_wg' is '-1', out of range"},
    {"nameless", "embedding_all_to_all", "", "3:11: 'kernel' is empty; name what was recorded"},
    {"no_colon", "# device: NVIDIA H200: driver 580", "# device",
     "10:1: '# device' is not metadata; write '# key: value'"},
    {"unknown_column", ",peer,", ",pear,", "11:22: unknown column 'pear'; did you mean 'peer'?"},
    {"missing_column", ",flop,", ",", "11:80: column 'flop' is missing; write 'kind,rank"},
    {"column_twice", ",flop,", ",cu,", "11:69: column 'cu' appears twice; name each column once"},
    {"column_order", "wg,task", "task,wg", "11:1: the columns are in another order; write 'kind,rank"},
    {"no_columns", columns, "", "11:1: the row that names the columns is missing; write 'kind,rank"},
};
INSTANTIATE_TEST_SUITE_P(Metadata, WgTraceReaderErrors, ::testing::ValuesIn(metadata_cases),
                         [](const auto& c) { return std::string(c.param.name); });

const std::string one = "task,0,0,0,5,1,100,150,160,4096,1024,512\n";
const std::string polling = "wait,0,0,-1,5,1,160,230,230,0,0,0\n";
const std::vector<Case> row_cases = {
    {"few", ",512\n", "\n", "12:37: the row has 11 fields; it needs 12: kind,rank"},
    {"many", ",512\n", ",512,7\n", "12:43: the row has 13 fields; it needs 12: kind,rank"},
    {"empty_line", one, one + "\n", "13:1: the line is empty; remove it"},
    {"late_metadata", one, one + "# a: b\n", "13:1: a metadata line is between the rows; move it above"},
    {"kind", "task,0,0", "tsk,0,0", "12:1: unknown kind 'tsk'; did you mean 'task'?"},
    {"float", "100,150", "100.0,150",
     "12:16: start_ns is '100.0', not an integer; write an integer number of nanoseconds"},
    {"no_number", "4096", "", "12:28: read_bytes is '', not an integer; write a whole amount"},
    {"blank", ",4096", ", 4096", "12:28: read_bytes is ' 4096', not an integer"},
    {"overflow", "100,150", "99999999999999999999,150",
     "12:16: start_ns is '99999999999999999999', too large; write an integer number of nanoseconds"},
    {"epoch", "100,150", "1763700000000000000,150",
     "12:16: start_ns is '1763700000000000000', too large; write an integer number of nanoseconds since the recording "
     "began"},
    {"negative", "4096,", "-1,", "12:28: read_bytes is '-1', below 0; write a whole amount"},
    {"negative_task", "task,0,0,0", "task,0,0,-2", "12:10: task is '-2', below -1; write a task number"},
    {"end", "100,150,160", "100,150,99", "12:24: end_ns is 99, before start_ns 100; a row ends"},
    {"compute_early", "100,150,160", "100,99,160", "12:20: compute_end_ns is 99, outside 100 to 160; it lies"},
    {"compute_late", "100,150,160", "100,161,160", "12:20: compute_end_ns is 161, outside 100 to 160; it lies"},
    {"rank", "task,0,0,0", "task,2,0,0", "12:6: rank is 2, but 'ranks' is 2; numbers begin at 0"},
    {"peer", "5,1,100", "5,2,100", "12:14: peer is 2, but 'ranks' is 2; numbers begin at 0"},
    {"wg", "task,0,0,0", "task,0,4,0", "12:8: wg is 4, but 'wgs_per_rank' is 4; numbers begin at 0"},
    {"unnumbered", "task,0,0,0", "task,0,0,-1", "12:10: the task has no number; tasks of a rank are"},
    {"wait_task", "wait,0,0,-1", "wait,0,0,3", "14:10: a wait has the task 3; a wait belongs to no task; write -1"},
    {"wait_compute", "160,230,230", "160,220,230",
     "14:21: a wait has compute_end_ns 220 and end_ns 230; a wait computes and stores nothing"},
    {"wait_bytes", "230,0,0,0", "230,7,0,0",
     "14:29: a wait has read_bytes 7; a wait moves and computes nothing; write 0"},
    {"unsorted", "0,100,150,160", "0,99,150,160",
     "13:16: rows are not sorted: (rank, start_ns, wg, task) = (0, 99, 1, 1) after (0, 100, 0, 0); sort"},
    {"rank_back", "task,1,0,0,5,0,90,140,160,4096,1024,512\n",
     "task,1,0,0,5,0,90,140,160,4096,1024,512\ntask,0,3,7,5,0,900,940,960,4096,1024,512\n",
     "16:6: rows are not sorted: (rank, start_ns, wg, task) = (0, 900, 3, 7) after (1, 90, 0, 0); sort"},
    {"task_twice", "task,0,1,1", "task,0,1,0",
     "13:10: task 0 appears twice on rank 0; write one row per task of a rank"},
    {"overlap", "task,0,1,1,6,0,100", "task,0,0,1,6,0,140",
     "13:16: workgroup 0 starts task 1 at 140 ns, before its task on line 12 ends at 160 ns; a workgroup does one"},
    {"no_rows", rows, "", "12:1: the trace has no rows; a WG trace has at least one row for each rank"},
    {"last_rank", "task,1,0,0,5,0,90,140,160,4096,1024,512\n", "", "2:10: rank 1 has no rows; every rank from 0"},
    {"first_rank", one + "task,0,1,1,6,0,100,150,160,4096,1024,512\n" + polling, "",
     "12:6: rank 0 has no rows; every rank"},
    {"recorded_end", "recorded_end_ns: 230", "recorded_end_ns: 231",
     "9:20: 'recorded_end_ns' is 231, but the last row ends at 230; it is"},
};
INSTANTIATE_TEST_SUITE_P(Rows, WgTraceReaderErrors, ::testing::ValuesIn(row_cases),
                         [](const auto& c) { return std::string(c.param.name); });

TEST(WgTraceReader, MissingRanksAreToldAsARange) {
  EXPECT_THAT(read(replaced(header + rows, "ranks: 2", "ranks: 1000000")).errors,
              AllOf(HasSubstr("2:10: ranks 2 to 999999 have no rows")));
}

TEST(WgTraceReader, TellsAllErrorsOfAFile) {
  std::string text = replaced(header + rows, "5,1,100,150,160", "5,9,100,150,90");
  text = replaced(text, "wait,0,0,-1", "wait,0,0,zero");
  const std::string errors = read(text).errors;
  EXPECT_THAT(errors, HasSubstr(fmt::format("t.csv:{}:14: peer is 9", first_row)));
  EXPECT_THAT(errors, HasSubstr(fmt::format("t.csv:{}:24: end_ns is 90", first_row)));
  EXPECT_THAT(errors, HasSubstr("t.csv:14:10: task is 'zero'"));
}

TEST(WgTraceReader, RightRowsBetweenWrongOnesAreRead) {
  EXPECT_EQ(read(replaced(header + rows, "task,0,1,1", "task,0,1,one")).rows.size(), 3u);
}

TEST(WgTraceReader, OneWrongDateIsOneError) {
  const std::string errors = read(replaced(header + rows, "0,100,150,160", "0,100000,150000,160000")).errors;
  EXPECT_EQ(std::count(errors.begin(), errors.end(), '\n'), 1) << errors;
}

TEST(WgTraceReader, StopsAfterTwentyErrors) {
  std::string text = header;
  for (int i = 0; i < 1000; ++i) text += "task,none\n";
  const std::string errors = read(text).errors;
  EXPECT_EQ(std::count(errors.begin(), errors.end(), '\n'), 21);
  EXPECT_THAT(errors, EndsWith("t.csv:31:10: too many errors; the rest of the file was not read\n"));
}

TEST(WgTraceReader, ALastLineWithoutANewlineLooksCutOff) {
  const std::string text = header + rows;
  EXPECT_THAT(read(text.substr(0, text.size() - 2)).errors,
              StartsWith("t.csv:15:39: the last line does not end in a newline; the file looks cut off"));
}

TEST(WgTraceReader, AnOverlongLineEndsTheReading) {
  EXPECT_THAT(read(header + rows + std::string(5000, '1') + "\n").errors,
              StartsWith("t.csv:16:4097: the line is longer than 4096 bytes; shorten it"));
  // A small file must not be decompressed into a line of a gigabyte.
  std::ostringstream bomb;
  formats::ZstdEncoder encoder(bomb);
  const std::string zeros(1 << 20, '0');
  for (int i = 0; i < 256; ++i) encoder.write(zeros);
  encoder.finish();
  EXPECT_THAT(read(bomb.str(), true).errors, StartsWith("t.csv:1:4097: the line is longer than 4096 bytes"));
}

TEST(WgTraceReader, MetadataAreLimited) {
  std::string text = metadata;
  for (int i = 0; i < 1000; ++i) text += fmt::format("# key{}: x\n", i);
  EXPECT_THAT(read(text + columns + rows).errors,
              StartsWith("t.csv:1002:1: the trace has more than 1000 metadata lines; "));
}

TEST(WgTraceReader, DamagedCompressionIsNamed) {
  std::string large = header;
  for (int i = 0; i < 20000; ++i)
    large += fmt::format("task,0,0,{0},5,1,{1},{1},{1},4096,1024,512\n", i, 1000 + i * 7919L);
  const std::string whole = compressed(large);
  const std::string tiny = compressed(header + rows);
  EXPECT_THAT(read(whole.substr(0, whole.size() / 2), true).errors,
              HasSubstr("the compressed data end in the middle of a frame; "));
  EXPECT_THAT(read(tiny.substr(0, tiny.size() - 1), true).errors,
              HasSubstr("the compressed data end in the middle of a frame; "));
  EXPECT_THAT(read(header + rows, true).errors,
              StartsWith("t.csv:1:1: the file has no zstd data; compress the file, or"));
  EXPECT_THAT(read("x", true).errors, StartsWith("t.csv:1:1: the file has no zstd data; "));
  EXPECT_THAT(read(tiny + "trailing", true).errors, HasSubstr("t.csv:16:1: other data follow the compressed data; "));
  std::string flipped = whole;
  flipped[flipped.size() / 2] = static_cast<char>(~flipped[flipped.size() / 2]);
  EXPECT_THAT(read(flipped, true).errors, HasSubstr("t.csv:"));
  EXPECT_THAT(read(tiny).errors, StartsWith("t.csv:1:1: the file is zstd-compressed; let its name end in .csv.zst"));
}

TEST(WgTraceReader, AnEmptyFileIsAnError) {
  EXPECT_THAT(read("").errors, StartsWith("t.csv:1:1: the file is empty; a WG trace starts with"));
  EXPECT_THAT(read("", true).errors, StartsWith("t.csv:1:1: the file is empty; "));
  EXPECT_THAT(read(compressed(""), true).errors, StartsWith("t.csv:1:1: the file is empty; "));
  EXPECT_THAT(read("# moire-wgtrace 1\n").errors, HasSubstr("the file ends before the row that names the columns"));
}

TEST(WgTraceReader, OpensFilesByTheirName) {
  const std::filesystem::path folder = ::testing::TempDir() + "wg_trace_reader_test";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "t.csv") << header << rows;
  std::ofstream(folder / "t.csv.zst", std::ios::binary) << compressed(header + rows);
  config::Diagnostics diagnostics;
  for (const char* name : {"t.csv", "t.csv.zst"}) {
    auto reader = WgTraceReader::open(folder / name, diagnostics);
    ASSERT_TRUE(reader) << diagnostics.str();
    int count = 0;
    for (WgTraceRow row; reader->next(row);) EXPECT_EQ(reader->line(), first_row + count++);
    EXPECT_EQ(count, 4);
  }
  EXPECT_TRUE(diagnostics.ok());
  EXPECT_FALSE(WgTraceReader::open(folder, diagnostics));
  EXPECT_FALSE(WgTraceReader::open(folder / "none.csv", diagnostics));
  EXPECT_THAT(diagnostics.str(), HasSubstr(folder.string() + ": is a folder; name a WG trace (.csv or .csv.zst)"));
  EXPECT_THAT(diagnostics.str(), HasSubstr("none.csv: does not exist; name a WG trace (.csv or .csv.zst)"));
  std::filesystem::remove_all(folder);
}

TEST(WgTraceReader, TasksNeedNotBeNumberedDensely) {
  std::string text = replaced(header, "# ranks: 2", "# ranks: 1");
  text = replaced(text, "recorded_end_ns: 230", "recorded_end_ns: 4");
  for (int i = 0; i < 4; ++i) text += fmt::format("task,0,{},{},0,0,{},4,4,0,0,0\n", i, i * 1'000'000'000'000L, i);
  EXPECT_THAT(read(text).errors, IsEmpty());
  text += "task,0,3,1000000000000,0,0,4,4,4,0,0,0\n";
  EXPECT_THAT(read(text).errors, HasSubstr("task 1000000000000 appears twice"));
}

TEST(WgTraceSummary, KeepsTheDatesOfEachRank) {
  WgTraceSummary summary;
  for (const WgTraceRow& row : read(header + rows).rows) summary.add(row);
  ASSERT_EQ(summary.ranks().size(), 2u);
  const WgTraceRankSummary& rank = summary.ranks()[0];
  EXPECT_EQ(rank.tasks, 2);
  EXPECT_EQ(rank.waits, 1);
  EXPECT_EQ(rank.first_start, Time::from_ns(100));
  EXPECT_EQ(rank.last_compute_end, Time::from_ns(150));
  EXPECT_EQ(rank.last_task_end, Time::from_ns(160));
  EXPECT_EQ(rank.last_end, Time::from_ns(230));
  EXPECT_EQ(summary.ranks()[1].first_start, Time::from_ns(90));
}

}  // namespace
}  // namespace moire::program
