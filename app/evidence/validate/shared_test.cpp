#include "app/evidence/validate/shared.hpp"

#include <gmock/gmock.h>

#include "app/evidence/validate/scenario_group.hpp"

namespace moire::validate {
namespace {

using config::Node;
using testing::ElementsAre;

Node tree(const std::string& text) {
  config::Diagnostics diagnostics;
  auto node = config::load_text("file.yaml", text, {}, diagnostics, {.includes = false});
  EXPECT_TRUE(diagnostics.ok()) << diagnostics.str();
  return *node;
}

std::string completed(Node& file) {
  config::Diagnostics diagnostics;
  complete_groups(file, diagnostics);
  return diagnostics.str();
}

TEST(Shared, AGroupGetsWhatItDoesNotSayItself) {
  Node file = tree(
      "shared: {grid: {metric: a, case: x, set: {p: 1, q: 2}, limits: {case: 5}}}\n"
      "groups:\n"
      "  - {name: one, like: grid, metric: b, set: {q: 3, r: 4}}\n"
      "  - {name: two, metric: c}\n");
  EXPECT_EQ(completed(file), "");
  const Node& one = file.find("groups")->items[0];
  EXPECT_THAT(one.keys(), ElementsAre("metric", "case", "set", "limits", "name", "like"));
  EXPECT_EQ(one.find("metric")->text, "b");
  EXPECT_THAT(one.find("set")->keys(), ElementsAre("p", "q", "r"));
  EXPECT_EQ(one.find("set")->find("q")->text, "3");
  EXPECT_EQ(one.find("limits")->find("case")->text, "5");
  // Each entry keeps its position in the file, which error messages state.
  EXPECT_EQ(one.find("case")->place.line, 1);
  EXPECT_EQ(one.find("metric")->place.line, 3);
  EXPECT_THAT(file.find("groups")->items[1].keys(), ElementsAre("name", "metric"));
}

// Regression: a group's change of 'system' undid the part's change of 'system.nodes', so cases ran with wrong nodes.
TEST(Shared, AGroupsWholeStandsBeforeThePartsOfIt) {
  Node file = tree(
      "shared: {grid: {set: {p: 1, system.nodes: 2, system.node.gpus: 3}}}\n"
      "groups: [{like: grid, set: {system.node.gpus: 4, q: 1, system: b.yaml, system.no: 1}}]\n");
  EXPECT_EQ(completed(file), "");
  const Node& set = *file.find("groups")->items[0].find("set");
  EXPECT_THAT(set.keys(), ElementsAre("p", "system", "system.nodes", "system.node.gpus", "q", "system.no"));
  EXPECT_EQ(set.find("system.node.gpus")->text, "4");
}

TEST(Shared, MapsAreJoinedOneLevelDeep) {
  Node file = tree(
      "shared: {grid: {scenario: {system: a, program: {queues: {main: []}}}}}\n"
      "groups: [{like: grid, scenario: {program: {launch: []}}}]\n");
  EXPECT_EQ(completed(file), "");
  const Node& group = file.find("groups")->items[0];
  EXPECT_THAT(group.find("scenario")->keys(), ElementsAre("system", "program"));
  EXPECT_THAT(group.find("scenario")->find("program")->keys(), ElementsAre("launch"));
}

TEST(Shared, WhatIsWrongIsToldAtItsPlace) {
  Node file = tree("shared: {grid: {metric: a}, spare: {}, word: x}\ngroups: [{like: gird}, {like: word}]\n");
  EXPECT_EQ(
      completed(file),
      "file.yaml:1:10: no group uses 'grid'; write 'like: grid' in the groups that use it, or remove the part\n"
      "file.yaml:1:29: no group uses 'spare'; write 'like: spare' in the groups that use it, or remove the part\n"
      "file.yaml:1:46: 'shared.word' is 'x', not a map; write the keys of a group there, {scenario: ..., set: {...}}\n"
      "file.yaml:2:17: 'like' does not name a part of 'shared': 'gird'; did you mean 'grid'?\n");
}

TEST(ParseKnown, UnknownKeysHideNothing) {
  config::Diagnostics diagnostics;
  const auto spec = parse_known<MeasuredSpec>(tree("{value: a, unt: us, unit: ms}"), diagnostics);
  ASSERT_TRUE(spec);
  EXPECT_EQ(spec->unit, "ms");
  EXPECT_EQ(diagnostics.size(), 1);
  EXPECT_FALSE(parse_known<MeasuredSpec>(tree("{value: [a]}"), diagnostics));
}

}  // namespace
}  // namespace moire::validate
