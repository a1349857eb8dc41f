#include "sim/formats/complaints.hpp"

#include <gmock/gmock.h>

namespace moire::formats {
namespace {

using ::testing::EndsWith;

TEST(Complaints, TheFirstAreToldAndTheOthersCounted) {
  config::Diagnostics diagnostics;
  {
    Complaints complaints("t.xml", diagnostics);
    for (std::uint32_t i = 1; i <= Complaints::told + 3; ++i) complaints.error(Position{i, 2}, "wrong", "right");
    EXPECT_EQ(complaints.errors(), Complaints::told + 3);
    EXPECT_FALSE(complaints.stopped());
  }
  EXPECT_EQ(diagnostics.size(), Complaints::told + 1);
  EXPECT_THAT(diagnostics.str(),
              EndsWith("t.xml:20:2: wrong; right\nt.xml: 3 more errors; the first ones may be their cause\n"));
}

TEST(Complaints, AReaderOfLinesStopsAtTheLast) {
  config::Diagnostics diagnostics;
  {
    Complaints complaints("t.csv", diagnostics, Complaints::Beyond::unread);
    for (std::int64_t i = 1; i <= 30; ++i) complaints.error(i, 4, "wrong", "right");
    EXPECT_TRUE(complaints.stopped());
  }
  EXPECT_EQ(diagnostics.size(), Complaints::told + 1);
  EXPECT_THAT(diagnostics.str(), EndsWith("t.csv:20:4: too many errors; the rest of the file was not read\n"));
}

TEST(Complaints, NothingIsToldAfterAFatalOne) {
  config::Diagnostics diagnostics;
  Complaints complaints("t.csv", diagnostics);
  complaints.fatal(0, 0, "empty", "write it");
  complaints.error(7, 1, "wrong", "right");
  EXPECT_EQ(diagnostics.str(), "t.csv: empty; write it\n");
}

TEST(Complaints, WarningsAreToldOnceAKind) {
  config::Diagnostics diagnostics;
  {
    Complaints complaints("t.xml", diagnostics);
    for (std::uint32_t i = 1; i <= 3; ++i) complaints.warning("odd", Position{i, 1}, "odd", "even");
    complaints.warning("old", Position{9, 1}, "old", {});
    EXPECT_TRUE(complaints.ok());
  }
  EXPECT_EQ(diagnostics.warnings(), "t.xml:1:1: warning: odd (and 2 more like it); even\nt.xml:9:1: warning: old\n");
}

}  // namespace
}  // namespace moire::formats
