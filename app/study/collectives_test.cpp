#include "app/study/collectives.hpp"

#include <gmock/gmock.h>

namespace moire::study {
namespace {

Time us(double time) { return Time::from_us(time); }

replay::Result result_of(std::vector<std::vector<replay::Span>> spans) {
  replay::Result result;
  result.spans = std::move(spans);
  return result;
}

builder::Exchange of(std::size_t operations,
                     std::shared_ptr<const std::vector<std::vector<program::Rank>>> communicators = nullptr) {
  builder::Exchange made;
  made.operations = operations;
  made.communicators = std::move(communicators);
  return made;
}

void expect(const std::vector<RankTime>& times, const std::vector<std::pair<double, double>>& expected) {
  ASSERT_EQ(times.size(), expected.size());
  for (std::size_t i = 0; i < times.size(); ++i) {
    EXPECT_EQ(times[i].wait, us(expected[i].first)) << i;
    EXPECT_EQ(times[i].move, us(expected[i].second)) << i;
  }
}

TEST(RankTimes, WaitUntilTheLastHasCome) {
  const auto result = result_of({{{us(1), us(9)}, {us(4), us(8)}, {us(2), us(9)}}});
  expect(rank_times(of(1), 0, result), {{3, 5}, {0, 4}, {2, 5}});
}

TEST(RankTimes, WhoEndsBeforeTheLastHasComeHasWaitedUntilThen) {
  const auto result = result_of({{{us(1), us(3)}, {us(4), us(8)}}});
  expect(rank_times(of(1), 0, result), {{2, 0}, {0, 4}});
}

TEST(RankTimes, SeveralOperationsAreOne) {
  const auto result = result_of({{}, {{us(1), us(3)}, {us(2), us(3)}}, {{us(3), us(6)}, {us(3), us(7)}}});
  expect(rank_times(of(2), 1, result), {{1, 4}, {0, 5}});
}

TEST(RankTimes, CommunicatorsWaitForTheirOwn) {
  const auto groups = std::make_shared<const std::vector<std::vector<program::Rank>>>(
      std::vector<std::vector<program::Rank>>{{0, 1}, {2, 3}});
  const auto result = result_of({{{us(1), us(9)}, {us(2), us(9)}, {us(5), us(9)}, {us(3), us(9)}}});
  expect(rank_times(of(1, groups), 0, result), {{1, 7}, {0, 7}, {0, 4}, {2, 4}});
}

TEST(RankTimes, OfABlockThatStandsForAllItsImagesAreMembers) {
  const auto groups = std::make_shared<const std::vector<std::vector<program::Rank>>>(
      std::vector<std::vector<program::Rank>>{{0, 2}, {1, 3}});
  const auto result = result_of({{{us(1), us(9)}, {us(2), us(9)}}});  // ranks 0 and 1 of four are simulated
  expect(rank_times(of(1, groups), 0, result), {{0, 8}, {0, 7}});
}

TEST(RankTimes, WhoTakesNoPartIsNotWaitedFor) {
  const auto result = result_of({{{us(1), us(9)}, {}, {us(2), us(9)}}});
  expect(rank_times(of(1), 0, result), {{1, 7}, {0, 7}});
  expect(rank_times(of(0), 0, result), {});
}

}  // namespace
}  // namespace moire::study
