#include "app/report/plot.hpp"

#include <gmock/gmock.h>
#include <stdlib.h>

#include <filesystem>
#include <limits>

#include "sim/core/failure.hpp"

namespace moire::report {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++n;
  return n;
}

Figure two_points() {
  Figure figure;
  figure.title = "Title";
  figure.x_label = "x in us";
  figure.y_label = "y in us";
  figure.series.push_back({.name = "curve", .x = {1, 2}, .y = {3, 4}});
  return figure;
}

TEST(Plot, IsOneElementForAPage) {
  const std::string text = svg(two_points(), "first");
  EXPECT_THAT(text, StartsWith("<svg"));
  EXPECT_THAT(text, testing::EndsWith("</svg>\n"));
  for (const char* part : {">Title<", ">x in us<", ">y in us<", ">curve<"}) EXPECT_THAT(text, HasSubstr(part));
  EXPECT_THAT(text, HasSubstr("id=\"first\""));
  EXPECT_THAT(text, Not(HasSubstr("id='gp")));  // two figures on a page would share this id
  EXPECT_THAT(text, Not(HasSubstr("<title>")));
}

TEST(Plot, SameFigureSameBytes) { EXPECT_EQ(svg(two_points()), svg(two_points())); }

TEST(Plot, EveryStyleDraws) {
  const std::string without = svg([] {
    Figure figure = two_points();
    figure.series.clear();
    return figure;
  }());
  EXPECT_THAT(without, HasSubstr("nothing to show"));
  for (const Style style : {Style::points, Style::lines, Style::line_points, Style::steps, Style::area, Style::bars}) {
    Figure figure = two_points();
    figure.series[0].style = style;
    const std::string text = svg(figure);
    EXPECT_THAT(text, HasSubstr("0, 114, 178")) << static_cast<int>(style);  // the first colour
    EXPECT_THAT(text, Not(HasSubstr("nothing to show")));
  }
}

TEST(Plot, UserTextIsLiteral) {
  const std::filesystem::path trap = std::filesystem::path(testing::TempDir()) / "moire_plot_trap";
  std::filesystem::remove(trap);
  Figure figure = two_points();
  figure.title = "a_b^{c} it's `touch " + trap.string() + "` 50 % <b> & \"q\" \\n\nplot system('x')";
  figure.series[0].name = "'; !touch " + trap.string() + " '";
  figure.x_categories = {"50 % of 'all'", "`touch " + trap.string() + "`"};
  const std::string text = svg(figure);
  EXPECT_FALSE(std::filesystem::exists(trap));
  EXPECT_THAT(text, HasSubstr("a_b^{c} it's `touch"));
  EXPECT_THAT(text, HasSubstr("50 % &lt;b> &amp; \"q\" \\n plot system('x')"));
  EXPECT_THAT(text, HasSubstr(">50 % of 'all'<"));
}

TEST(Plot, BytesThatAreNoTextAreReplaced) {
  Figure figure = two_points();
  figure.title = "bad \xff\xc3 byte, good \xc2\xb5s";
  EXPECT_THAT(svg(figure), HasSubstr("bad ?? byte, good \xc2\xb5s"));
}

TEST(Plot, WhatAnAxisCannotShowIsLeftOut) {
  Figure figure = two_points();
  figure.log_y = true;
  figure.series[0].x = {1, 2, 3, 4};
  figure.series[0].y = {10, 0, std::numeric_limits<double>::quiet_NaN(), -5};
  const std::string script = gnuplot_script(figure, "f");
  EXPECT_THAT(script, HasSubstr("\n1 10 "));
  for (const char* row : {"\n2 0 ", "\n3 nan", "\n4 -5 "}) EXPECT_THAT(script, Not(HasSubstr(row)));
  EXPECT_NO_THROW(svg(figure));
}

TEST(Plot, DiagonalGivesBothAxesOneRange) {
  Figure figure = two_points();
  figure.diagonal = true;
  figure.band = 0.1;
  figure.log_x = figure.log_y = true;
  figure.series[0] = {.name = "", .x = {10, 20}, .y = {1, 400}};
  const std::string script = gnuplot_script(figure, "f");
  // The margin of both axes is the 20th root of the ratio 400 to 1.
  EXPECT_THAT(script, HasSubstr("set xrange [0.741134:539.713]"));
  EXPECT_THAT(script, HasSubstr("set yrange [0.741134:539.713]"));
  EXPECT_THAT(script, HasSubstr("($2*1.1)"));
  EXPECT_THAT(script, HasSubstr("($2*0.9)"));
}

TEST(Plot, ErrorBarsReachFromLowToHigh) {
  Figure figure = two_points();
  figure.series[0].x_low = {0.5, 1.5};
  figure.series[0].x_high = {1.25, 2.5};
  const std::string script = gnuplot_script(figure, "f");
  EXPECT_THAT(script, HasSubstr("\n1 3 0.5 1.25 3 3\n"));
  EXPECT_THAT(script, HasSubstr("with xerrorbars"));
}

TEST(Plot, BarsOfOneCategoryStandSideBySide) {
  Figure figure = two_points();
  figure.x_categories = {"a", "b"};
  figure.series = {{.name = "p", .x = {0, 1}, .y = {1, 2}, .style = Style::bars},
                   {.name = "q", .x = {0, 1}, .y = {3, 4}, .style = Style::bars}};
  const std::string script = gnuplot_script(figure, "f");
  EXPECT_EQ(count(script, "($"), 0);
  EXPECT_EQ(count(script, "1:2:(0.4) with boxes"), 2);  // two bars together fill 0.8 of a category
  EXPECT_THAT(script, HasSubstr("\n-0.2 1 "));
  EXPECT_THAT(script, HasSubstr("\n0.2 3 "));
}

TEST(Plot, SeriesOfOneColourLookAlike) {
  Figure figure = two_points();
  figure.series.push_back(figure.series[0]);
  EXPECT_EQ(count(gnuplot_script(figure, "f"), "#0072b2"), 1);
  figure.series[1].colour = 0;
  EXPECT_EQ(count(gnuplot_script(figure, "f"), "#0072b2"), 2);
}

TEST(Plot, ReferenceLinesAreInRange) {
  Figure figure = two_points();
  figure.y_lines = {-15, 15};
  const std::string script = gnuplot_script(figure, "f");
  EXPECT_THAT(script, HasSubstr("set yrange [-16.5:16.5]"));
  EXPECT_EQ(count(script, "nohead"), 2);
}

TEST(Plot, MissingGnuplotSaysHowToGetIt) {
  const char* path = getenv("PATH");
  const std::string kept = path ? path : "";
  setenv("PATH", testing::TempDir().c_str(), 1);
  try {
    svg(two_points());
    ADD_FAILURE() << "drew without gnuplot";
  } catch (const core::RunFailure& failure) {
    EXPECT_THAT(failure.what(), HasSubstr("apt-get install gnuplot-nox"));
  }
  setenv("PATH", kept.c_str(), 1);
}

}  // namespace
}  // namespace moire::report
