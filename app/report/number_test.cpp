#include "app/report/number.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "app/report/values.hpp"

namespace moire::report {
namespace {

using Style = Number::Style;

std::string styled(double value, Style style, int digits = 2, bool sign = false) {
  return shown({.value = value, .digits = digits, .style = style, .sign = sign});
}

TEST(Number, StylesShowTheDigitsThatSaySomething) {
  EXPECT_EQ(styled(2, Style::fixed), "2.00");
  EXPECT_EQ(styled(-0.0, Style::fixed), "0.00");
  EXPECT_EQ(styled(0.25, Style::fixed, 1), "0.2");  // as printf rounds: halves to the even digit
  EXPECT_EQ(styled(0.25, Style::nearest, 1, true), "+0.3");
  EXPECT_EQ(styled(-0.04, Style::nearest, 1, true), "+0.0");
  EXPECT_EQ(styled(15, Style::trimmed), "15");
  EXPECT_EQ(styled(5.347, Style::trimmed), "5.35");
  EXPECT_EQ(styled(5.1, Style::trimmed), "5.1");
  EXPECT_EQ(styled(768, Style::counted, 3), "768");
  EXPECT_EQ(styled(0.5, Style::counted, 3), "0.500");
  EXPECT_EQ(styled(1234.5, Style::significant, 4), "1234");
  EXPECT_EQ(styled(0.012345, Style::telling), "0.0123");
  EXPECT_EQ(styled(0, Style::telling), "0.00");
  EXPECT_EQ(styled(2000, Style::telling), "2000");
  EXPECT_EQ(styled(2000.5, Style::telling), "2000.50");
  EXPECT_EQ(styled(123456.7, Style::telling), "123457");
}

TEST(Number, UnitsAndScalesAreForPeople) {
  const Number tenth = signed_share(0.1);
  EXPECT_EQ(shown(tenth), "+10.0 %");
  EXPECT_EQ(tenth.for_programs(), 0.1);
  EXPECT_EQ(shown(factor(1.5)), "1.500 x");
  EXPECT_EQ(shown(percent(-3.14)), "-3.1 %");
}

TEST(Number, ProgramsGetAsManyDecimalsAsSaySomething) {
  EXPECT_EQ((Number{.value = 0.1234567, .decimals = 6}.for_programs()), 0.123457);
  EXPECT_FALSE(std::signbit(Number{.value = -1e-9, .decimals = 6}.for_programs()));
}

TEST(Number, OneUnitForATable) {
  EXPECT_EQ(shown(in_unit(Time::from_us(1500), unit_for(Time::from_us(9'999)))), "1500.00 us");
  EXPECT_EQ(shown(in_unit(Time::from_us(1500), unit_for(Time::from_us(10'000)))), "1.50 ms");
  EXPECT_EQ(shown(in_unit(Time::from_seconds(1.5), unit_for(Time::from_seconds(10)))), "1.50 s");
}

TEST(Values, ANumberIsANumberAndTheRestIsText) {
  EXPECT_EQ(std::get<std::int64_t>(value_of("132").value), 132);
  EXPECT_EQ(std::get<Number>(value_of("0.5").value).value, 0.5);
  for (const char* text : {"0.4 us", "550.90.07", "never", "", "nan", "inf"})
    EXPECT_EQ(std::get<std::string>(value_of(text).value), text);
}

TEST(Values, AVersionIsText) {
  EXPECT_EQ(std::get<std::int64_t>(count_or_text("132").value), 132);
  for (const char* text : {"12.10", "13.0", "007", "550.90.07", "-", ""})
    EXPECT_EQ(std::get<std::string>(count_or_text(text).value), text);
}

TEST(Values, WhatIsQuotedInAFileIsText) {
  config::Node node;
  node.kind = config::Node::Kind::scalar;
  node.text = "4";
  EXPECT_EQ(std::get<std::int64_t>(value_of(node).value), 4);
  node.quoted = true;
  EXPECT_EQ(std::get<std::string>(value_of(node).value), "4");
}

}  // namespace
}  // namespace moire::report
