#include "sim/program/wg_trace_writer.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "sim/program/wg_trace_reader.hpp"

namespace moire::program {
namespace {

using ::testing::HasSubstr;

class WgTraceWriterTest : public ::testing::Test {
 protected:
  WgTraceWriterTest() {
    std::filesystem::create_directories(folder);
    header.ranks = 3;
    header.kernel = "gemm, then all_to_all";
    header.wgs_per_rank = 16;
    header.threads_per_wg = 512;
    header.registers_per_thread = 128;
    header.lds_bytes_per_wg = 65536;
    header.bytes_in_flight_per_wg = 32768;
    header.provenance = {{"device", "NVIDIA H200"}, {"note", "clock: 1.98 GHz"}, {"empty", ""}};
    for (Rank rank = 0; rank < header.ranks; ++rank) {
      for (std::int64_t wave = 0; wave < 200; ++wave) {
        for (std::uint32_t wg = 0; wg < header.wgs_per_rank; ++wg) {
          const std::int64_t start = wave * 1000;
          rows.push_back({WgTraceRow::Kind::task, rank, wg, wave * header.wgs_per_rank + wg, wg / 2, (rank + wg) % 3,
                          start, start + 600 + wg, start + 800 + wg, 1 << 20, std::int64_t{1} << 40, 4096});
        }
      }
      rows.push_back(
          {WgTraceRow::Kind::wait, rank, 0, -1, 0, (rank + 1) % 3, 200000, 250000 + rank, 250000 + rank, 0, 0, 0});
    }
    header.recorded_end_ns = 250002;
  }
  ~WgTraceWriterTest() override { std::filesystem::remove_all(folder); }

  bool write(const std::string& name) {
    auto writer = WgTraceWriter::create(folder / name, header, diagnostics);
    if (!writer) return false;
    for (const WgTraceRow& row : rows) writer->add(row);
    return writer->finish();
  }
  std::string bytes(const std::string& name) const {
    std::ifstream in(folder / name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  const std::filesystem::path folder =
      ::testing::TempDir() + "wg_trace_writer_" + ::testing::UnitTest::GetInstance()->current_test_info()->name();
  WgTraceHeader header;
  std::vector<WgTraceRow> rows;
  config::Diagnostics diagnostics;
};

TEST_F(WgTraceWriterTest, WhatIsWrittenIsRead) {
  for (const char* name : {"t.csv", "t.csv.zst"}) {
    ASSERT_TRUE(write(name)) << diagnostics.str();
    auto reader = WgTraceReader::open(folder / name, diagnostics);
    ASSERT_TRUE(reader) << diagnostics.str();
    EXPECT_EQ(reader->header(), header);
    std::vector<WgTraceRow> back;
    for (WgTraceRow row; reader->next(row);) back.push_back(row);
    EXPECT_EQ(back, rows);
  }
  EXPECT_TRUE(diagnostics.ok()) << diagnostics.str();
  EXPECT_LT(bytes("t.csv.zst").size() * 5, bytes("t.csv").size());
}

TEST_F(WgTraceWriterTest, TheSameTraceHasTheSameBytes) {
  for (const char* name : {"a.csv", "b.csv", "a.csv.zst", "b.csv.zst"}) ASSERT_TRUE(write(name));
  EXPECT_EQ(bytes("a.csv"), bytes("b.csv"));
  EXPECT_EQ(bytes("a.csv.zst"), bytes("b.csv.zst"));
}

TEST_F(WgTraceWriterTest, RowsThatWouldNotBeReadAreReported) {
  std::swap(rows[0], rows[20]);
  rows[30].end_ns = -1;
  EXPECT_FALSE(write("t.csv"));
  EXPECT_THAT(diagnostics.str(), HasSubstr("t.csv:15:"));
  EXPECT_THAT(diagnostics.str(), HasSubstr("rows are not sorted"));
  EXPECT_THAT(diagnostics.str(), HasSubstr("end_ns is '-1', below 0"));
}

TEST_F(WgTraceWriterTest, MetadataThatWouldNotBeReadAreReported) {
  header.provenance = {{"note", "two\nlines"}};
  EXPECT_FALSE(write("t.csv"));
  header.provenance = {{"note: here", "one line"}};
  EXPECT_FALSE(write("t.csv"));
  header.provenance = {{"ranks", "8"}};
  EXPECT_FALSE(write("t.csv"));
  EXPECT_THAT(diagnostics.str(), HasSubstr("a metadata key or value cannot be written so that it reads back the same"));
  EXPECT_THAT(diagnostics.str(), HasSubstr("key 'ranks' is also on line 2"));
}

TEST_F(WgTraceWriterTest, AFullDiskIsReported) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no device that refuses all bytes";
  auto writer = WgTraceWriter::create("/dev/full", header, diagnostics);
  ASSERT_TRUE(writer);
  for (const WgTraceRow& row : rows) writer->add(row);
  EXPECT_FALSE(writer->finish());
  EXPECT_THAT(diagnostics.str(), HasSubstr("cannot write '/dev/full': No space left on device; is the disk full?"));
}

TEST_F(WgTraceWriterTest, AFolderThatIsNotThereIsReported) {
  EXPECT_FALSE(write("none/t.csv"));
  EXPECT_THAT(diagnostics.str(), HasSubstr("none/t.csv': No such file or directory; "));
}

}  // namespace
}  // namespace moire::program
