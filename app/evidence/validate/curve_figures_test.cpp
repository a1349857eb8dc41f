#include "app/evidence/validate/curve_figures.hpp"

#include <gmock/gmock.h>

namespace moire::validate {
namespace {

using testing::ElementsAre;

TEST(CurveFigures, AreOverTheParameterWithMostValues) {
  const std::vector<CurveValue> values = {{{{"wgs", 64}, {"depth", 1}, {"row", 512}}, 20, 19, 21, 22},
                                          {{{"wgs", 1}, {"depth", 1}, {"row", 512}}, 10, 9, 11, 12},
                                          {{{"wgs", 8}, {"depth", 2}, {"row", 512}}, 30, 29, 31, 32},
                                          {{{"wgs", 8}, {"depth", 1}, {"row", 512}}, 15, 14, 16, 17}};
  const auto figures = curve_figures("gather", "bandwidth", "GB/s", values);
  ASSERT_EQ(figures.size(), 1);
  const report::Figure& figure = figures[0];
  EXPECT_EQ(figure.title, "gather bandwidth");
  EXPECT_EQ(figure.x_label, "wgs");
  EXPECT_EQ(figure.y_label, "bandwidth in GB/s");
  EXPECT_TRUE(figure.log_x);   // 1 to 64
  EXPECT_FALSE(figure.log_y);  // 10 to 30
  ASSERT_EQ(figure.series.size(), 4);
  EXPECT_EQ(figure.series[0].name, "measured, depth=1");  // omits the parameter `row`, which does not vary
  EXPECT_THAT(figure.series[0].x, ElementsAre(1, 8, 64));
  EXPECT_THAT(figure.series[0].y, ElementsAre(10, 15, 20));
  EXPECT_THAT(figure.series[0].y_high, ElementsAre(11, 16, 21));
  EXPECT_EQ(figure.series[1].name, "simulated, depth=1");
  EXPECT_THAT(figure.series[1].y, ElementsAre(12, 17, 22));
  EXPECT_EQ(figure.series[2].name, "measured, depth=2");
}

TEST(CurveFigures, OfOnePointIsNone) {
  EXPECT_TRUE(curve_figures("flag", "round_trip", "ns", {{{}, 1, 1, 1, 1}}).empty());
  EXPECT_TRUE(curve_figures("gather", "bandwidth", "GB/s", {{{{"wgs", 1}}, 1, 1, 1, 1}}).empty());
}

TEST(CurveFigures, SayHowManySeriesAreNotShown) {
  std::vector<CurveValue> values;
  for (int depth = 1; depth <= 6; ++depth)
    for (int wgs = 1; wgs <= 8; ++wgs) values.push_back({{{"wgs", wgs}, {"depth", depth}}, 1, 1, 1, 1});
  const auto figures = curve_figures("gather", "bandwidth", "1", values);
  ASSERT_EQ(figures.size(), 1);
  EXPECT_EQ(figures[0].series.size(), 8);
  EXPECT_EQ(figures[0].title, "gather bandwidth, 4 of 6 series");
  EXPECT_EQ(figures[0].y_label, "bandwidth");
}

}  // namespace
}  // namespace moire::validate
