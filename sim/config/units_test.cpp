#include "sim/config/units.hpp"

#include <gtest/gtest.h>

namespace moire::config {
namespace {

template <class Q>
Q read(std::string_view text) {
  Q out{};
  const auto problem = parse_quantity(text, out);
  EXPECT_FALSE(problem) << problem->str();
  return out;
}

double ratio(std::string_view text) {
  double out = -1;
  EXPECT_FALSE(parse_quantity(text, Dimension::ratio, out)) << text;
  return out;
}

std::string error(std::string_view text, Dimension dimension) {
  double out = 0;
  const auto problem = parse_quantity(text, dimension, out);
  return problem ? problem->str() : "no error";
}

TEST(Units, TimesAreExactPicoseconds) {
  EXPECT_EQ(read<Time>("700 ns"), Time{700'000});
  EXPECT_EQ(read<Time>("2.5 us"), Time{2'500'000});
  EXPECT_EQ(read<Time>("2.5 µs"), Time{2'500'000});
  EXPECT_EQ(read<Time>("1 ms"), Time{1'000'000'000});
  EXPECT_EQ(read<Time>("0.1 ns"), Time{100});
  EXPECT_EQ(read<Time>("0 s"), Time{0});
  EXPECT_EQ(read<Time>("1e3 ps"), Time{1000});
}

TEST(Units, DecimalAndBinaryPrefixesDiffer) {
  EXPECT_EQ(read<Bytes>("64 MiB"), Bytes{64.0 * 1024 * 1024});
  EXPECT_EQ(read<Bytes>("64MB"), Bytes{64e6});
  EXPECT_EQ(read<Bytes>("4 KiB"), Bytes{4096});
  EXPECT_EQ(read<Bytes>("4 kB"), Bytes{4000});
  EXPECT_EQ(read<Bytes>("17 B"), Bytes{17});
}

TEST(Units, BitsAreAnEighthOfBytes) {
  EXPECT_EQ(read<BytesPerSecond>("200 GB/s"), BytesPerSecond{200e9});
  EXPECT_EQ(read<BytesPerSecond>("200 Gb/s"), BytesPerSecond{25e9});
  EXPECT_EQ(read<BytesPerSecond>("4.8 TB/s"), BytesPerSecond{4.8e12});
}

TEST(Units, RatesOfOperationsAndEvents) {
  EXPECT_EQ(read<Flop>("2 TFLOP"), Flop{2e12});
  EXPECT_EQ(read<FlopPerSecond>("989 TFLOP/s"), FlopPerSecond{989e12});
  EXPECT_EQ(read<PerSecond>("1.98 GHz"), PerSecond{1.98e9});
  EXPECT_EQ(read<PerSecond>("150 M/s"), PerSecond{150e6});
  EXPECT_EQ(read<PerSecond>("7000 /s"), PerSecond{7000});
}

TEST(Units, RatiosTakePercent) {
  EXPECT_EQ(ratio("0.92"), 0.92);
  EXPECT_EQ(ratio("92 %"), 0.92);
  EXPECT_EQ(ratio("92%"), 0.92);
}

TEST(Units, BareNumberNamesTheUnitsThatFit) {
  EXPECT_EQ(error("900", Dimension::bytes_per_second),
            "'900' has no unit; a bandwidth takes one of B/s, MB/s, GB/s, TB/s, MiB/s, GiB/s, TiB/s, Mb/s, Gb/s");
  EXPECT_EQ(error("0", Dimension::time), "'0' has no unit; a time takes one of ps, ns, us, ms, s");
  EXPECT_EQ(error("61", Dimension::energy),
            "'61' has no unit; an amount of energy takes one of J, fJ, pJ, nJ, uJ, mJ, kJ");
}

TEST(Units, WrongDimensionIsNamed) {
  EXPECT_EQ(error("700 ns", Dimension::bytes_per_second),
            "'700 ns' is a time, not a bandwidth; write a bandwidth like 200 GB/s");
  EXPECT_EQ(error("64 MiB", Dimension::ratio), "'64 MiB' is a size, not a ratio; write a ratio like 0.92 or 92 %");
}

TEST(Units, MistypedUnitIsSuggested) {
  EXPECT_EQ(error("1 GBps", Dimension::bytes_per_second), "'1 GBps' has the unknown unit 'GBps'; did you mean 'GB/s'?");
  EXPECT_EQ(error("1 gb/s", Dimension::bytes_per_second),
            "'1 gb/s' has the unknown unit 'gb/s'; did you mean 'GB/s' or 'Gb/s'?");
  EXPECT_EQ(error("1 furlong", Dimension::time),
            "'1 furlong' has the unknown unit 'furlong'; write a time like 700 ns");
}

TEST(Units, NumbersThatAreNone) {
  EXPECT_EQ(error("", Dimension::time), "'' is not a number; write a time like 700 ns");
  EXPECT_EQ(error("fast", Dimension::time), "'fast' is not a number; write a time like 700 ns");
  EXPECT_EQ(error("nan ns", Dimension::time), "'nan ns' is not a finite number; write a time like 700 ns");
  EXPECT_EQ(error("inf", Dimension::ratio), "'inf' is not a finite number; write a ratio like 0.92 or 92 %");
  EXPECT_EQ(error("1e999 ns", Dimension::time), "'1e999 ns' is outside the range of numbers; write a time like 700 ns");
  EXPECT_EQ(error("+-1 ns", Dimension::time), "'+-1 ns' is not a number; write a time like 700 ns");
}

TEST(Units, WhatNoMachineHasIsRefused) {
  EXPECT_EQ(error("1001 s", Dimension::time), "'1001 s' is above what a time can be; it is 1 ps to 1000 s");
  EXPECT_EQ(error("0.1 ps", Dimension::time), "'0.1 ps' is below what a time can be; it is 1 ps to 1000 s");
  EXPECT_EQ(error("1e20 TB", Dimension::bytes), "'1e20 TB' is above what a size can be; it is at most 8 PiB");
  EXPECT_EQ(error("1e-9 B/s", Dimension::bytes_per_second),
            "'1e-9 B/s' is below what a bandwidth can be; it is 1 MB/s to 1 ZB/s");
  EXPECT_EQ(error("1 Hz", Dimension::per_second), "'1 Hz' is below what a rate of events can be; it is 1 k/s to 1 E/s");
  EXPECT_EQ(error("1 FLOP/s", Dimension::flop_per_second),
            "'1 FLOP/s' is below what a compute rate can be; it is 1 MFLOP/s to 10 ZFLOP/s");
  EXPECT_EQ(error("1e20", Dimension::ratio), "'1e20' is above what a ratio can be; it is 1e-15 to 1e+15");
}

TEST(Units, FormattedQuantitiesReadBackTheSame) {
  EXPECT_EQ(format_quantity(Bytes{67108864}), "64 MiB");
  EXPECT_EQ(format_quantity(Bytes{141e9}), "141 GB");
  EXPECT_EQ(format_quantity(BytesPerSecond{4.8e12}), "4.8 TB/s");
  EXPECT_EQ(format_quantity(Time{700'000}), "700 ns");
  EXPECT_EQ(format_quantity(Time{0}), "0 ps");
  EXPECT_EQ(format_quantity(FlopPerSecond{989e12}), "989 TFLOP/s");
  EXPECT_EQ(format_quantity(FlopPerSecond{999'999'999}), "1 GFLOP/s") << "six digits are written: 1000 MFLOP/s";
  EXPECT_EQ(read<BytesPerSecond>(format_quantity(BytesPerSecond{25e9})), BytesPerSecond{25e9});
  EXPECT_EQ(read<PerSecond>(format_quantity(PerSecond{1.98e9})), PerSecond{1.98e9});
}

}  // namespace
}  // namespace moire::config
