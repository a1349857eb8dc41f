#include "app/timeline/lanes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

namespace moire::timeline {
namespace {

TEST(Lanes, AFreeLaneIsUsedAgain) {
  Lanes lanes;
  EXPECT_EQ(lanes.place(Time{0}, Time{10}, 1), 0u);
  EXPECT_EQ(lanes.place(Time{10}, Time{20}, 2), 0u);
  EXPECT_EQ(lanes.place(Time{5}, Time{30}, 3), 1u);
  EXPECT_EQ(lanes.place(Time{29}, Time{31}, 4), 0u);
}

TEST(Lanes, AnOwnerGoesOnInItsLane) {
  Lanes lanes;
  for (std::uint64_t owner = 0; owner < 4; ++owner) EXPECT_EQ(lanes.place(Time{0}, Time{10}, owner), owner);
  for (std::uint64_t owner = 0; owner < 4; ++owner) EXPECT_EQ(lanes.place(Time{10}, Time{20}, owner), owner);
}

// For random spans, the number of lanes is the largest number of spans that overlap at one time, and the spans of one
// lane do not overlap.
TEST(Lanes, NeverMoreLanesThanNeeded) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    struct Span {
      Time begin, end;
    };
    std::vector<Span> spans(60);
    for (Span& span : spans) {
      span.begin = Time{static_cast<std::int64_t>(random() % 100)};
      span.end = span.begin + Time{static_cast<std::int64_t>(1 + random() % 30)};
    }
    std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.end < b.end; });
    std::size_t needed = 0;
    for (const Span& at : spans) {
      needed =
          std::max(needed, static_cast<std::size_t>(std::count_if(spans.begin(), spans.end(), [&](const Span& other) {
                     return other.begin <= at.begin && at.begin < other.end;
                   })));
    }
    Lanes lanes;
    std::map<std::uint32_t, Time> last;
    for (const Span& span : spans) {
      const std::uint32_t lane = lanes.place(span.begin, span.end, random() % 5);
      EXPECT_LE(last[lane], span.begin);
      last[lane] = span.end;
    }
    EXPECT_EQ(lanes.count(), needed);
  }
}

}  // namespace
}  // namespace moire::timeline
