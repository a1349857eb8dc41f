#include "models/hardware/perturb/distribution.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "sim/config/load.hpp"
#include "sim/config/spec.hpp"

namespace moire::perturb {
namespace {

using testing::DoubleNear;
using testing::HasSubstr;

template <class Spec>
Spec from(const std::string& yaml, std::string* errors = nullptr) {
  config::Diagnostics diagnostics;
  const auto root = config::load_text("d.yaml", yaml, {}, diagnostics);
  const auto spec = root ? config::parse<Spec>(*root, diagnostics) : std::nullopt;
  if (errors != nullptr) *errors = diagnostics.str();
  EXPECT_TRUE(errors != nullptr || (spec && diagnostics.ok())) << diagnostics.str();
  return spec.value_or(Spec{});
}

std::string refusal(const std::string& yaml) {
  std::string errors;
  from<DelaySpec>(yaml, &errors);
  return errors;
}

// Returns `count` draws of a delay, in us.
std::vector<double> delays(const std::string& yaml, int count = 20'000) {
  const auto of = quantile(from<DelaySpec>(yaml));
  std::vector<double> all;
  for (int i = 0; i < count; ++i) all.push_back(of(uniform_of(7, 0, 0, static_cast<std::uint64_t>(i))).us());
  return all;
}

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double share_below(const std::vector<double>& values, double limit) {
  const auto below = std::count_if(values.begin(), values.end(), [=](double value) { return value < limit; });
  return static_cast<double>(below) / static_cast<double>(values.size());
}

TEST(Distribution, NormalQuantileInvertsTheNormal) {
  for (const double z : {-8.0, -5.0, -2.5, -1.96, -0.5, -1e-3, 0.3, 1.0, 1.97, 2.2, 4.0}) {
    const double p = 0.5 * std::erfc(-z / std::sqrt(2.0));
    EXPECT_THAT(normal_quantile(p), DoubleNear(z, 3e-9 * std::max(1.0, std::abs(z)))) << z;
  }
  EXPECT_EQ(normal_quantile(0.5), 0);
}

TEST(Distribution, UniformNumbersAreSpreadAndApart) {
  std::vector<double> all;
  for (std::uint64_t unit = 0; unit < 20'000; ++unit) all.push_back(uniform_of(1, 2, 3, unit));
  EXPECT_THAT(mean(all), DoubleNear(0.5, 0.01));
  EXPECT_THAT(share_below(all, 0.1), DoubleNear(0.1, 0.01));
  EXPECT_NE(uniform_of(1, 2, 3, 4), uniform_of(2, 2, 3, 4));
  EXPECT_NE(uniform_of(1, 2, 3, 4), uniform_of(1, 3, 3, 4));
  EXPECT_NE(uniform_of(1, 2, 3, 4), uniform_of(1, 2, 4, 4));
  // Must be the same on every machine; changing this value changes every perturbed run.
  EXPECT_EQ(uniform_of(1, 0, 0, 0), 0x1.2b70478ac411cp-4);
}

TEST(Distribution, FixedValue) {
  EXPECT_EQ(quantile(from<DelaySpec>("value: 20 us"))(0.3), Time::from_us(20));
  EXPECT_EQ(quantile(from<ShareSpec>("value: 80 %"))(0.3), 0.8);
}

TEST(Distribution, Uniform) {
  const auto all = delays("uniform: {from: 10 us, to: 30 us}");
  EXPECT_GE(*std::min_element(all.begin(), all.end()), 10);
  EXPECT_LE(*std::max_element(all.begin(), all.end()), 30);
  EXPECT_THAT(mean(all), DoubleNear(20, 0.2));
  EXPECT_THAT(share_below(all, 15), DoubleNear(0.25, 0.01));
}

TEST(Distribution, NormalIsCutOnBothSides) {
  const auto all = delays("normal: {mean: 20 us, deviation: 5 us, from: 15 us, to: 100 us}");
  EXPECT_GE(*std::min_element(all.begin(), all.end()), 15);
  // 84.13 % of the untruncated normal distribution are above 15 us, one deviation below the mean. 50 % are above the
  // mean, so after truncation the share above the mean is 0.5 / 0.8413.
  EXPECT_THAT(share_below(all, 20), DoubleNear(1 - 0.5 / 0.8413, 0.01));
  const auto narrow = delays("normal: {mean: 20 us, deviation: 5 us, from: 20 us, to: 20 us}", 100);
  EXPECT_EQ(share_below(narrow, 19.999), 0);
  EXPECT_EQ(share_below(narrow, 20.001), 1);
  EXPECT_EQ(quantile(from<ShareSpec>("normal: {mean: 0.9, deviation: 0, from: 0.5, to: 1}"))(0.1), 0.9);
}

TEST(Distribution, Exponential) {
  const auto all = delays("exponential: {mean: 10 us}");
  EXPECT_THAT(mean(all), DoubleNear(10, 0.3));
  EXPECT_THAT(share_below(all, 10), DoubleNear(1 - std::exp(-1), 0.01));
  const auto cut = delays("exponential: {mean: 10 us, to: 20 us}");
  EXPECT_LE(*std::max_element(cut.begin(), cut.end()), 20);
  EXPECT_THAT(share_below(cut, 10), DoubleNear((1 - std::exp(-1)) / (1 - std::exp(-2)), 0.01));
}

TEST(Distribution, Lognormal) {
  const auto all = delays("lognormal: {median: 10 us, sigma: 1}");
  EXPECT_THAT(share_below(all, 10), DoubleNear(0.5, 0.01));
  EXPECT_THAT(share_below(all, 27.18), DoubleNear(0.8413, 0.01));
  const auto cut = delays("lognormal: {median: 10 us, sigma: 1, to: 10 us}");
  EXPECT_LE(*std::max_element(cut.begin(), cut.end()), 10.000001);
  EXPECT_THAT(share_below(delays("lognormal: {median: 10 us, sigma: 0, to: 20 us}", 10), 9.99), 0);
}

TEST(Distribution, WrongOnesAreToldWithTheirPlace) {
  EXPECT_THAT(refusal("{}"), HasSubstr("0 distributions are given; write one of value, uniform"));
  EXPECT_THAT(refusal("{value: 1 us, exponential: {mean: 1 us}}"), HasSubstr("2 distributions are given"));
  EXPECT_THAT(refusal("uniform: {from: 3 us, to: 1 us}"), HasSubstr("d.yaml:1:27: 'uniform.to': 'to' is below 'from'"));
  EXPECT_THAT(refusal("normal: {mean: 3 us, deviation: 1 us, from: 4 us, to: 5 us}"),
              HasSubstr("the mean is not between"));
  EXPECT_THAT(refusal("exponential: {mean: 3 us, to: 1 us}"), HasSubstr("'to' is below the mean"));
  EXPECT_THAT(refusal("lognormal: {median: 3 us, sigma: 1, to: 1 us}"), HasSubstr("'to' is below the median"));
  std::string errors;
  from<ShareSpec>("value: 1.2", &errors);
  EXPECT_THAT(errors, HasSubstr("0.01 to 1"));
}

}  // namespace
}  // namespace moire::perturb
