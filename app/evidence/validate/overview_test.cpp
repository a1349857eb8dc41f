#include "app/evidence/validate/overview.hpp"

#include <gmock/gmock.h>

#include "app/report/formats.hpp"

namespace moire::validate {
namespace {

using testing::HasSubstr;
using testing::Not;

GroupResult group(const std::string& name, const std::vector<std::pair<double, double>>& measured_and_simulated) {
  GroupResult made;
  made.name = name;
  made.kind = "scenario";
  for (const auto& [measured, simulated] : measured_and_simulated) {
    Case one;
    one.name = std::to_string(made.cases.size());
    one.measured = measured;
    one.simulated = simulated;
    made.cases.push_back(one);
  }
  made.summarise();
  return made;
}

Validated file(const std::string& name, std::vector<GroupResult> groups) {
  Validated made;
  made.file = name;
  made.result.groups = std::move(groups);
  for (std::size_t i = 0; i < made.result.groups.size(); ++i) made.validation.groups.push_back(nullptr);
  return made;
}

TEST(Overview, GroupsStandInTheOrderOfTheirPartOfAllErrors) {
  std::vector<Validated> files;
  files.push_back(file("a/one.yaml", {group("small", {{100, 101}}), group("large", {{100, 90}, {100, 104}})}));
  files.push_back(file("b/two.yaml", {group("middle", {{100, 105}})}));
  const std::string text = report::write_csv(overview_of(files));
  EXPECT_LT(text.find("large"), text.find("middle"));
  EXPECT_LT(text.find("middle"), text.find("small"));
  EXPECT_THAT(text, HasSubstr("a/one.yaml,large,2"));
  EXPECT_THAT(report::write_text(overview_of(files)), HasSubstr("Errors of 2 validation files: 4 cases, mean 5.0 %"));
  EXPECT_THAT(report::write_text(overview_of(files)), HasSubstr("70.0 %"));  // 'large': 10 % + 4 % of 20 %
}

TEST(Overview, WhatFollowsFromOthersHasNoPart) {
  GroupResult difference = group("reduction", {{50, 70}});
  difference.kind = "difference";
  std::vector<Validated> files;
  files.push_back(file("one.yaml", {difference, group("times", {{100, 101}})}));
  EXPECT_THAT(report::write_text(overview_of(files)), HasSubstr("1 cases, mean 1.0 %"));
  const std::string text = report::write_csv(overview_of(files));
  EXPECT_LT(text.find("times"), text.find("reduction"));
}

TEST(Overview, FittedGroupsAreTold) {
  std::vector<Validated> files;
  files.push_back(file("one.yaml", {group("held out", {{100, 101}}), group("fit", {{100, 101}})}));
  EXPECT_THAT(report::write_csv(overview_of(files)), Not(HasSubstr("fitted")));
  files[0].validation.fits.push_back({"all", {1}, {}, {}});
  EXPECT_THAT(report::write_csv(overview_of(files)), HasSubstr("fitted"));
}

}  // namespace
}  // namespace moire::validate
