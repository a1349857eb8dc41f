#include "sim/formats/number.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace moire::formats {
namespace {

TEST(Number, DecimalsAreFiniteAndNothingElse) {
  EXPECT_EQ(number_in<double>("285.5"), 285.5);
  EXPECT_EQ(number_in<double>("-1e3"), -1000);
  for (const char* text : {"", "1 us", "nan", "inf", "0x10", "1,5", " 1", "1e999"}) {
    EXPECT_FALSE(number_in<double>(text)) << text;
  }
}

TEST(Number, WholeNumbersKnowTheirRange) {
  std::int32_t value = 5;
  EXPECT_EQ(parse_number("12", value, 0, 12), Digits::good);
  EXPECT_EQ(value, 12);
  EXPECT_EQ(parse_number("13", value, 0, 12), Digits::out_of_range);
  EXPECT_EQ(parse_number("-1", value, 0, 12), Digits::out_of_range);
  EXPECT_EQ(parse_number("99999999999999999999", value, 0, 12), Digits::out_of_range);
  for (const char* text : {"", "1.5", "12a", " 1", "+1", "0x1"}) {
    EXPECT_EQ(parse_number(text, value, 0, 12), Digits::none) << text;
  }
  EXPECT_EQ(value, 12) << "what is not a number changes nothing";
}

TEST(Number, HexadecimalWhereItMayBe) {
  EXPECT_EQ(any_base_number_in<std::int64_t>("0x5a"), 90);
  EXPECT_EQ(any_base_number_in<std::int64_t>("90"), 90);
  EXPECT_EQ(any_base_number_in<std::int64_t>("-90"), -90);
  for (const char* text : {"0x", "0x-1", "90x", ""}) EXPECT_FALSE(any_base_number_in<std::int64_t>(text)) << text;
}

}  // namespace
}  // namespace moire::formats
