#include "sim/core/quantity.hpp"

#include <gtest/gtest.h>

namespace moire {
namespace {

TEST(Time, ConvertsFromAndToSeconds) {
  EXPECT_EQ(Time::from_ns(1.5).ps, 1500);
  EXPECT_EQ(Time::from_us(2).ps, 2'000'000);
  EXPECT_EQ(Time::from_seconds(1e-3).ps, 1'000'000'000);
  EXPECT_DOUBLE_EQ(Time{396'000}.ns(), 396);
  EXPECT_DOUBLE_EQ(Time{396'000}.us(), 0.396);
  EXPECT_DOUBLE_EQ(Time{396'000}.seconds(), 396e-9);
}

TEST(Time, RoundsToTheNearestPicosecondAwayFromZero) {
  EXPECT_EQ(Time::from_ns(0.0004).ps, 0);
  EXPECT_EQ(Time::from_ns(0.0006).ps, 1);
  EXPECT_EQ(Time::from_ns(-0.0006).ps, -1);
}

TEST(Time, IsExactArithmetic) {
  Time t{1};
  t += Time{(std::int64_t{1} << 62)};
  EXPECT_EQ((t - Time{std::int64_t{1} << 62}).ps, 1);
  EXPECT_EQ((Time{7} * 3).ps, 21);
  EXPECT_LT(Time{1}, Time{2});
  EXPECT_GT(Time::max(), Time::from_seconds(9e6));  // 106 days
}

TEST(Duration, IsRoundedUp) {
  EXPECT_EQ(duration(Bytes{1}, BytesPerSecond{3e12}).ps, 1);       // 0.33 ps
  EXPECT_EQ(duration(Bytes{1000}, BytesPerSecond{3e12}).ps, 334);  // 333.3 ps
  EXPECT_EQ(duration(Bytes{0}, BytesPerSecond{1}).ps, 0);
}

TEST(Duration, IsExactWhereTheAnswerIsAWholeNumber) {
  for (std::int64_t ps = 1; ps < 5000; ++ps) {
    for (const std::int64_t bytes_per_ps : {1, 3, 7}) {
      const auto bytes = static_cast<double>(ps * bytes_per_ps);
      const std::int64_t got = duration(Bytes{bytes}, BytesPerSecond{static_cast<double>(bytes_per_ps) * 1e12}).ps;
      EXPECT_EQ(got, ps);
    }
  }
}

TEST(Time, NeverWraps) {
  constexpr Time day{86'400'000'000'000'000};
  EXPECT_EQ(day * 106 + day, Time::max());
  EXPECT_EQ(day * 107, Time::max());
  Time t = day * 106;
  t += day;
  EXPECT_EQ(t, Time::max());
  EXPECT_EQ(Time::from_seconds(1e9), Time::max());
  EXPECT_EQ(duration(Bytes{1e16}, BytesPerSecond{1e6}), Time::max());
}

TEST(Time, SumsOfManyAreLongerThanADate) {
  TimeSum sum;
  for (int i = 0; i < 1000; ++i) sum += Time::max();
  EXPECT_DOUBLE_EQ(sum.us(), 1000 * Time::max().us());
}

TEST(Quantity, KeepsItsDimension) {
  const Bytes sum = Bytes{3} + Bytes{4} - Bytes{1};
  EXPECT_DOUBLE_EQ(sum.value, 6);
  EXPECT_DOUBLE_EQ((sum * 2).value, 12);
  EXPECT_DOUBLE_EQ((sum / 2).value, 3);
  EXPECT_DOUBLE_EQ(sum / Bytes{2}, 3);
  EXPECT_LT(Bytes{1}, Bytes{2});
}

}  // namespace
}  // namespace moire
