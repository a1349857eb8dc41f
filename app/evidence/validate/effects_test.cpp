#include "app/evidence/validate/effects.hpp"

#include <gmock/gmock.h>

#include <map>
#include <string>

namespace moire::validate {
namespace {

Case of(const std::string& pair, const std::string& strategy, std::optional<double> measured, double simulated) {
  Case made;
  made.name = pair + " " + strategy;
  made.metric = "time_us";
  made.unit = "us";
  made.measured = measured;
  made.simulated = simulated;
  made.named_by = {{"pair", pair}, {"strategy", strategy}};
  return made;
}

const Effect strategies{"strategies", 0, "strategy", "plain", 2, 30, 40};

TEST(Effects, ARightSignIsEnough) {
  EXPECT_TRUE(is_right(10, 1, 0));
  EXPECT_TRUE(is_right(-10, -90, 0));
  EXPECT_FALSE(is_right(10, -1, 0));
  EXPECT_FALSE(is_right(10, 0, 0)) << "the simulation shows no effect";
  EXPECT_TRUE(is_right(0, 0, 0));
}

TEST(Effects, NextToNoneHasNoSign) {
  EXPECT_TRUE(is_right(1.5, -1.5, 2));
  EXPECT_FALSE(is_right(1.5, -2.5, 2));
  EXPECT_FALSE(is_right(-2.5, 0, 2));
}

TEST(Effects, AreChangesAgainstTheSameCaseWithTheOtherChoice) {
  GroupResult group;
  group.name = "c3";
  group.cases = {of("a", "plain", 100, 200), of("a", "dma", 80, 150), of("b", "dma", 60, 66),
                 of("b", "plain", 50, 60),   of("b", "late", 55, 57), of("c", "dma", 1, 1),
                 of("d", "plain", {}, 10),   of("d", "dma", {}, 5)};
  const GroupResult result = effect(strategies, group);
  ASSERT_EQ(result.cases.size(), 4);
  EXPECT_DOUBLE_EQ(*result.cases[0].measured, -20);
  EXPECT_DOUBLE_EQ(result.cases[0].simulated, -25);
  EXPECT_DOUBLE_EQ(*result.cases[1].measured, 20);
  EXPECT_NEAR(result.cases[1].simulated, 10, 1e-9);
  EXPECT_NEAR(result.cases[2].simulated, -5, 1e-9) << "the measured change is +10 %, so the sign is wrong";
  EXPECT_DOUBLE_EQ(result.cases[3].simulated, -50);
  EXPECT_FALSE(result.cases[3].measured);
  EXPECT_THAT(result.left_out, testing::ElementsAre("c dma"));
  ASSERT_EQ(result.metrics.size(), 2);
  EXPECT_NEAR(result.metrics[0].value, 100.0 / 3, 1e-9);
  ASSERT_EQ(result.limits.size(), 2);
  EXPECT_FALSE(result.limits[0].held());
  // In pair a, the simulation chooses dma, which is the best measured choice. In pair b, it chooses late, which took
  // 10 % longer than plain. Pairs c and d have fewer than two measured cases.
  EXPECT_DOUBLE_EQ(result.metrics[1].value, 50);
  EXPECT_FALSE(result.limits[1].held());
  ASSERT_EQ(result.curves.size(), 2) << "a curve for each choice";
  EXPECT_EQ(result.curves[0].name, "dma");
  EXPECT_EQ(result.curves[0].summary.cases, 2);
}

TEST(Effects, ThatExceedTheRepetitionsAreCountedApart) {
  GroupResult group;
  // dma is wrong within the repetitions, late beyond them. The other machine finds dma faster.
  group.cases = {of("a", "plain", 100, 100), of("a", "dma", 104, 90), of("a", "late", 120, 90)};
  const auto range = [&group](std::size_t number, double low, double high, double again) {
    group.cases[number].low = low;
    group.cases[number].high = high;
    group.cases[number].again = {again};
  };
  range(0, 98, 105, 100);
  range(1, 103, 106, 95);
  range(2, 118, 121, 119);
  std::map<std::string, double> found;
  for (const study::Metric& metric : effect(strategies, group).metrics) found[metric.name] = metric.value;
  EXPECT_DOUBLE_EQ(found.at("wrong_percent"), 100);
  EXPECT_DOUBLE_EQ(found.at("clearly_wrong_percent"), 100) << "of late alone";
  EXPECT_DOUBLE_EQ(found.at("machines_wrong_percent"), 50);
  group.cases[2].simulated = 110;
  found.clear();
  for (const study::Metric& metric : effect(strategies, group).metrics) found[metric.name] = metric.value;
  EXPECT_DOUBLE_EQ(found.at("wrong_percent"), 50);
  EXPECT_DOUBLE_EQ(found.at("clearly_wrong_percent"), 0);
}

TEST(Effects, SayHowMuchWorseAGoodChoiceMayBe) {
  GroupResult group;
  // The simulation chooses dma, which took 4 % longer.
  group.cases = {of("a", "plain", 100, 101), of("a", "dma", 104, 100)};
  Effect effects = strategies;
  EXPECT_DOUBLE_EQ(effect(effects, group).metrics[1].value, 0) << "the default is 5 %";
  effects.good_within = 3;
  EXPECT_DOUBLE_EQ(effect(effects, group).metrics[1].value, 100);
}

}  // namespace
}  // namespace moire::validate
