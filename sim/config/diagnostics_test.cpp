#include "sim/config/diagnostics.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace moire::config {
namespace {

using ::testing::EndsWith;

TEST(Printable, ShowsWhatATerminalWouldTakeForACommand) {
  EXPECT_EQ(printable("a\x1b[31mb\n\x7f"), "a\\x1b[31mb\\x0a\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b") << "U+009B is one, too";
  EXPECT_EQ(printable("\xc2\xb5s \xe2\x82\xac \xf0\x9f\x98\x80"), "\xc2\xb5s \xe2\x82\xac \xf0\x9f\x98\x80");
}

TEST(Printable, ShowsBytesThatAreNoUtf8) {
  EXPECT_EQ(printable("a\xff"), "a\\xff");
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf") << "longer than need be";
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "half of a pair";
  EXPECT_EQ(printable("\xe2\x82"), "\\xe2\\x82") << "cut off";
  EXPECT_EQ(valid_utf8("ab\xff"), 2);
  EXPECT_EQ(valid_utf8("\xc2\xb5"), 2);
}

TEST(Printable, IsCutBetweenCharacters) {
  const std::string most(59, 'a');
  EXPECT_EQ(in_quotes(most + "\xc2\xb5"), fmt::format("'{}...'", most));
  EXPECT_EQ(in_quotes("a\x1b"), "'a\\x1b'");
}

TEST(Diagnostics, OfManyTheFirstAreToldAndTheOthersCounted) {
  const auto source = std::make_shared<const Source>(Source{"f.yaml", {}, true, {}});
  Diagnostics diagnostics;
  for (int line = 1; line <= 20'100; ++line) diagnostics.error({source, line, 1}, "wrong");
  EXPECT_THAT(diagnostics.str(), EndsWith("f.yaml:100:1: wrong\nand 20,000 more\n"));
  EXPECT_EQ(diagnostics.size(), 20'100);
}

TEST(Diagnostics, HoldNothingThatATerminalObeys) {
  const auto source = std::make_shared<const Source>(Source{"f\x1b.yaml", {}, true, {}});
  Diagnostics diagnostics;
  diagnostics.error({source, 1, 1}, "a key \x1b[2J", "remove it");
  EXPECT_EQ(diagnostics.str(), "f\\x1b.yaml:1:1: a key \\x1b[2J; remove it\n");
}

}  // namespace
}  // namespace moire::config
