#include "sim/formats/csv.hpp"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

#include "sim/formats/zstd_stream.hpp"

namespace moire::formats {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

class CsvTest : public testing::Test {
 protected:
  std::filesystem::path write(const std::string& name, const std::string& text) {
    const auto path = std::filesystem::path(testing::TempDir()) / name;
    std::ofstream out(path, std::ios::binary);
    if (path.extension() == ".zst") {
      ZstdEncoder encoder(out);
      encoder.write(text);
      encoder.finish();
    } else {
      out << text;
    }
    return path;
  }
  std::string errors_of(const std::string& name, const std::string& text) {
    config::Diagnostics diagnostics;
    EXPECT_FALSE(read_csv(write(name, text), {}, diagnostics));
    return diagnostics.str();
  }
};

constexpr const char* table = "# gpu: NVIDIA H200\n# note\n#\nname,us\r\n\n\"a, \"\"b\"\"\",1.5\nc,\n";

TEST_F(CsvTest, ReadsWhatTheFileSaysOfItselfColumnsAndRows) {
  for (const char* name : {"csv_test.csv", "csv_test.csv.zst"}) {
    config::Diagnostics diagnostics;
    const auto file = read_csv(write(name, table), {}, diagnostics);
    ASSERT_TRUE(file) << diagnostics.str();
    EXPECT_THAT(file->about, ElementsAre(Pair("gpu", "NVIDIA H200"), Pair("note", "")));
    EXPECT_THAT(file->columns, ElementsAre("name", "us"));
    ASSERT_EQ(file->rows.size(), 2);
    EXPECT_EQ(file->rows[0][0].text, "a, \"b\"");
    EXPECT_EQ(file->rows[0][1].text, "1.5");
    EXPECT_EQ(file->rows[0][1].place.line, 6);
    EXPECT_EQ(file->rows[0][1].place.col, 12);
    EXPECT_EQ(file->rows[1][1].text, "");
  }
}

TEST_F(CsvTest, SaysWhatIsWrongAndWhere) {
  EXPECT_THAT(errors_of("csv_a.csv", "a,b\n1,2\n3\n4,5,6\n"),
              testing::AllOf(HasSubstr(":3:1: 1 field, but there are 2 columns"), HasSubstr(":4:1: 3 fields")));
  EXPECT_THAT(errors_of("csv_b.csv", "a,b,a\n"), HasSubstr(":1:5: column 'a' appears twice"));
  EXPECT_THAT(errors_of("csv_c.csv", "a,b\n\"1,2\n"), HasSubstr(":2:1: a quote is not closed"));
  EXPECT_THAT(errors_of("csv_d.csv", "# only: a header\n"), HasSubstr("the line of column names is missing"));
  EXPECT_THAT(errors_of("csv_e.csv", std::string("a,b\n1,\0\n", 8)), HasSubstr("is not a text file"));
}

TEST_F(CsvTest, ABrokenZstdFileIsToldSo) {
  const auto path = std::filesystem::path(testing::TempDir()) / "csv_f.csv.zst";
  std::ofstream(path) << "name,us\n";
  config::Diagnostics diagnostics;
  EXPECT_FALSE(read_csv(path, {}, diagnostics));
  EXPECT_THAT(diagnostics.str(), HasSubstr("is not a complete zstd file"));
}

TEST_F(CsvTest, AWrongFileDoesNotFillTheScreen) {
  std::string text = "a,b\n";
  for (int i = 0; i < 1000; ++i) text += "1\n";
  config::Diagnostics diagnostics;
  EXPECT_FALSE(read_csv(write("csv_g.csv", text), {}, diagnostics));
  EXPECT_EQ(diagnostics.size(), 21);
  EXPECT_THAT(diagnostics.str(), HasSubstr("csv_g.csv:21:1: too many errors; the rest of the file was not read"));
}

}  // namespace
}  // namespace moire::formats
