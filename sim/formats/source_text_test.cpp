#include "sim/formats/source_text.hpp"

#include <gtest/gtest.h>

namespace moire::formats {
namespace {

TEST(SourceText, EveryByteHasItsLineAndColumn) {
  const SourceText text("folder/t.txt", "ab\n\ncdef\ng");
  const auto at = [&text](std::size_t offset) { return text.place(text.position(offset)).str(); };
  EXPECT_EQ(at(0), "folder/t.txt:1:1");
  EXPECT_EQ(at(2), "folder/t.txt:1:3") << "the line end belongs to its line";
  EXPECT_EQ(at(3), "folder/t.txt:2:1");
  EXPECT_EQ(at(7), "folder/t.txt:3:4");
  EXPECT_EQ(at(9), "folder/t.txt:4:1");
  EXPECT_EQ(at(10), "folder/t.txt:4:2") << "the end of the text";
  EXPECT_EQ(at(1), "folder/t.txt:1:2") << "back again";
  EXPECT_EQ(text.source()->folder, "folder");
}

TEST(SourceText, FarPositionsAreFoundAsNearOnes) {
  std::string lines;
  for (int i = 0; i < 1000; ++i) lines += "abc\n";
  const SourceText text("t", lines);
  for (const std::size_t line : {999U, 3U, 500U, 501U, 0U}) {
    const Position found = text.position(4 * line + 2);
    EXPECT_EQ(found.line, line + 1);
    EXPECT_EQ(found.col, 3U);
  }
}

TEST(SourceText, WithoutANameNothingHasAPlace) {
  const SourceText text("", "a");
  EXPECT_EQ(text.place(text.position(std::size_t{0})).str(), "");
}

}  // namespace
}  // namespace moire::formats
