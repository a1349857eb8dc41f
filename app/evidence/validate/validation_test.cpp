#include "app/evidence/validate/validation.hpp"

#include <gmock/gmock.h>

#include "app/evidence/validate/expected.hpp"

namespace moire::validate {
namespace {

using testing::HasSubstr;

struct Value {
  std::string name;
  std::optional<double> measured;
  double simulated = 0;
};

// A group whose cases have the given measured and simulated values.
class Known : public Group {
 public:
  Known(std::string name, std::vector<Value> values) : name_(std::move(name)), values_(std::move(values)) {}
  std::size_t runs() const override { return values_.size(); }
  std::size_t cases() const override { return values_.size(); }
  GroupResult run(const Running& running) const override {
    GroupResult result;
    result.name = name_;
    result.kind = "scenario";
    for (const Value& value : values_) {
      running.begin(value.name);
      if (value.simulated < 0) throw Deadlocked{value.name, "all wait"};
      Case one;
      one.name = value.name;
      one.metric = "time_us";
      one.unit = "us";
      one.measured = value.measured;
      one.simulated = value.simulated;
      result.cases.push_back(one);
    }
    return result;
  }

 private:
  std::string name_;
  std::vector<Value> values_;
};

Validation of(std::vector<Value> fused, std::vector<Value> bulk) {
  Validation validation;
  validation.description = "two\nlines";
  validation.group_names = {"fused", "bulk"};
  validation.groups.push_back(std::make_unique<Known>("fused", std::move(fused)));
  validation.groups.push_back(std::make_unique<Known>("bulk", std::move(bulk)));
  return validation;
}

// 'bulk' takes longer than 'alone'. The difference is the share of this additional time that 'fused' saves.
TEST(Validation, DifferenceMayLeaveOutWhatBothHaveInCommon) {
  Validation validation = of({{"a", 60, 66}, {"no base", 1, 1}}, {{"a", 100, 110}, {"no base", 2, 2}});
  validation.group_names.push_back("alone");
  validation.groups.push_back(std::make_unique<Known>("alone", std::vector<Value>{{"a", 50, 55}}));
  validation.differences.push_back({"hidden", 0, 1, 2, {}});
  config::Diagnostics diagnostics;
  const ValidationResult result = run_validation(validation, 1, diagnostics);
  const GroupResult& hidden = result.groups[3];
  ASSERT_EQ(hidden.cases.size(), 1);
  EXPECT_DOUBLE_EQ(*hidden.cases[0].measured, 80);  // (100 - 60) / (100 - 50)
  EXPECT_DOUBLE_EQ(hidden.cases[0].simulated, 80);  // (110 - 66) / (110 - 55)
  EXPECT_THAT(hidden.left_out, testing::ElementsAre("no base"));
}

TEST(Validation, DifferenceIsInPointsOfPercent) {
  Validation validation =
      of({{"a", 60, 66}, {"only fused", 1, 1}, {"b", 90, 80}}, {{"b", 100, 100}, {"a", 100, 110}, {"only bulk", 1, 1}});
  validation.differences.push_back({"reduction", 0, 1, {}, {}});
  validation.differences[0].limits.mean = 4;
  config::Diagnostics diagnostics;
  const ValidationResult result = run_validation(validation, 1, diagnostics);
  ASSERT_EQ(result.groups.size(), 3);
  const GroupResult& reduction = result.groups[2];
  ASSERT_EQ(reduction.cases.size(), 2);
  EXPECT_DOUBLE_EQ(*reduction.cases[0].measured, 40);  // 1 - 60 / 100
  EXPECT_DOUBLE_EQ(reduction.cases[0].simulated, 40);  // 1 - 66 / 110
  EXPECT_DOUBLE_EQ(*reduction.cases[1].measured, 10);
  EXPECT_DOUBLE_EQ(reduction.cases[1].simulated, 20);
  EXPECT_DOUBLE_EQ(reduction.summary.mean, 5);
  EXPECT_THAT(reduction.left_out, testing::ElementsAre("only fused"));
  EXPECT_FALSE(result.passed());
  // `overall` has the errors of both groups in percent: 10, 0, 11.1, 0, 10 and 0. It excludes errors in points.
  EXPECT_EQ(result.overall.cases, 6);
  EXPECT_NEAR(result.overall.mean, (10 + 100.0 / 9 + 10) / 6, 1e-12);
}

TEST(Validation, ADeadlockNamesGroupAndCase) {
  const Validation validation = of({{"a", 1, 1}}, {{"b", 1, -1}});
  config::Diagnostics diagnostics;
  EXPECT_THAT(run_validation(validation, 1, diagnostics).deadlock, HasSubstr("group 'bulk', case 'b'\nall wait"));
}

TEST(Expectations, GoToTheCaseOfTheirGroupNameMetricAndUnit) {
  Validation validation = of({{"a", 100, 90}}, {{"a", 50, 50}, {"b", 10, 10}});
  validation.expected = {{"fused", "a", "time_us", "us", 110},
                         {"bulk", "a", "time_us", "ms", 50},
                         {"bulk", "b", "other_us", "us", 10},
                         {"bulk", "c", "time_us", "us", 10}};
  config::Diagnostics diagnostics;
  const ValidationResult result = run_validation(validation, 1, diagnostics);
  EXPECT_EQ(result.groups[0].cases[0].expected, 110);
  EXPECT_DOUBLE_EQ(*result.groups[0].cases[0].expected_error(), 10);
  EXPECT_FALSE(result.groups[1].cases[0].expected);
  EXPECT_FALSE(result.groups[1].cases[1].expected);
  EXPECT_EQ(result.unused_expected, 3);
  EXPECT_DOUBLE_EQ(result.groups[0].expected_summary.mean, 10);
}

TEST(Expectations, AreWhatPredictionsPrint) {
  const Validation validation = of({{"a, wide", std::nullopt, 90.125}}, {{"b", std::nullopt, 0.1}});
  config::Diagnostics diagnostics;
  const ValidationResult result = run_validation(validation, 1, diagnostics);
  EXPECT_EQ(predictions_csv(validation, result),
            "# predictions of: two lines\n"
            "group,case,metric,value,unit\n"
            "fused,\"a, wide\",time_us,90.125,us\n"
            "bulk,b,time_us,0.1,us\n");
  EXPECT_EQ(result.overall.cases, 0);
  EXPECT_TRUE(result.passed());
}

TEST(Specs, AreExplained) {
  config::Catalogue catalogue;
  describe(catalogue);
  for (const char* name : {"validation", "validation_group", "measured", "limits", "difference"})
    EXPECT_TRUE(catalogue.find(name)) << name;
}

}  // namespace
}  // namespace moire::validate
