#include "sim/config/override.hpp"

#include <gtest/gtest.h>

#include "sim/config/load.hpp"

namespace moire::config {
namespace {

constexpr const char* scenario =
    "program:\n"
    "  comm: [{all_gather: {engine: cu, bytes: 1 MiB}}, {wait: flag}]\n"
    "hosts: {node 1.2: {nic: a}}\n"
    "variants:\n"
    "  dma: {program.comm.0.all_gather.engine: dma}\n";

struct Result {
  Node root;
  std::string errors;
};

Result with(const std::vector<std::string>& sets) {
  Diagnostics diagnostics;
  const auto overrides = parse_sets(sets, diagnostics);
  auto root = load_text("s.yaml", scenario, overrides, diagnostics);
  return {std::move(*root), diagnostics.str()};
}

const Node& gather(const Node& root) { return *root.find("program")->find("comm")->items[0].find("all_gather"); }

TEST(Override, ReplacesThroughMapsAndLists) {
  const auto [root, errors] = with({"program.comm.0.all_gather.engine=dma"});
  EXPECT_EQ(errors, "");
  const Node& engine = *gather(root).find("engine");
  EXPECT_EQ(engine.text, "dma");
  EXPECT_EQ(engine.place.str(), "--set program.comm.0.all_gather.engine=dma");
  EXPECT_EQ(*engine.override_text, "--set program.comm.0.all_gather.engine=dma");
}

TEST(Override, TellsWhatItReplaced) {
  const Node root = with({"program.comm.0.all_gather.engine=dma", "program.comm.0.all_gather.engine=nic",
                          "program.comm.0.all_gather.bytes=2 MiB", "program.comm.0.all_gather.new=1", "hosts={}"})
                        .root;
  EXPECT_EQ(gather(root).find("engine")->text, "nic");
  const Node written = root.as_written();
  EXPECT_EQ(gather(written).find("engine")->text, "cu");
  EXPECT_EQ(gather(written).find("bytes")->text, "1 MiB");
  EXPECT_EQ(gather(written).find("new"), nullptr);
  EXPECT_EQ(written.find("hosts")->find("node 1.2")->find("nic")->text, "a");
}

TEST(Override, ValuesAreYaml) {
  const auto [root, errors] = with({"a=2 TB/s", "b=[1, 2]", "c={x: y}", "d=", "e='8'"});
  EXPECT_EQ(errors, "");
  EXPECT_EQ(root.find("a")->text, "2 TB/s");
  EXPECT_EQ(root.find("b")->items.size(), 2u);
  EXPECT_EQ(root.find("c")->find("x")->text, "y");
  EXPECT_TRUE(root.find("d")->is_null());
  EXPECT_TRUE(root.find("e")->quoted);
}

TEST(Override, CreatesMissingKeys) {
  const auto [root, errors] = with({"x.y.z=1"});
  EXPECT_EQ(errors, "");
  EXPECT_EQ(root.find("x")->find("y")->find("z")->text, "1");
}

TEST(Override, QuotedSegmentsHoldDotsSpacesAndEquals) {
  const auto [root, errors] = with({"hosts.\"node 1.2\".nic=b", "'k=v'=c"});
  EXPECT_EQ(errors, "");
  EXPECT_EQ(root.find("hosts")->find("node 1.2")->find("nic")->text, "b");
  EXPECT_EQ(root.find("k=v")->text, "c");
}

TEST(Override, ErrorsNameTheOverride) {
  EXPECT_EQ(with({"program.comm.2.x=1"}).errors,
            "--set program.comm.2.x=1: '2' is not an item of the list 'program.comm'; choose an item by its number, 0 "
            "to 1\n");
  EXPECT_EQ(with({"program.comm.priority=high"}).errors,
            "--set program.comm.priority=high: 'priority' is not an item of the list 'program.comm'; choose an item by "
            "its number, 0 to 1\n");
  EXPECT_EQ(with({"program.comm.1.wait.flag=1"}).errors,
            "--set program.comm.1.wait.flag=1: 'program.comm.1.wait' is 'flag' and has no key 'flag'; set "
            "'program.comm.1.wait' itself\n");
  EXPECT_EQ(with({"nothing"}).errors, "--set nothing: the '=' is missing; write --set path=value\n");
  for (const char* bad : {"=1", "a..b=1", ".a=1", "a.=1", "\"a=1"}) EXPECT_NE(with({bad}).errors, "") << bad;
  EXPECT_EQ(with({"a=b: c: d"}).errors,
            "--set a=b: c: d: bad YAML: illegal map value; put quotes around a text that contains ': ', and check the "
            "indentation\n");
}

TEST(Override, AFailedOneBreaksTheTree) {
  EXPECT_TRUE(with({"program.comm.2.x=1"}).root.broken);
  EXPECT_FALSE(with({}).root.broken);
}

TEST(Override, VariantsKeepTheirPlace) {
  Diagnostics diagnostics;
  auto root = load_text("s.yaml", scenario, {}, diagnostics);
  const Node::Entry entry = root->find("variants")->find("dma")->entries[0];
  const auto change = make_override(entry.key, entry.value, diagnostics);
  ASSERT_TRUE(change && apply(*change, *root, diagnostics)) << diagnostics.str();
  const Node& engine = *gather(*root).find("engine");
  EXPECT_EQ(engine.text, "dma");
  EXPECT_EQ(engine.place.str(), "s.yaml:5:43");
  EXPECT_EQ(*engine.override_text, "program.comm.0.all_gather.engine: dma (s.yaml:5:43)");
}

TEST(Override, VariantErrorsPointIntoTheScenario) {
  Diagnostics diagnostics;
  auto root = load_text("s.yaml", "a: [1]\nv: {a.5: 2}\n", {}, diagnostics);
  const Node::Entry entry = root->find("v")->entries[0];
  EXPECT_FALSE(apply(*make_override(entry.key, entry.value, diagnostics), *root, diagnostics));
  EXPECT_EQ(diagnostics.str(),
            "s.yaml:2:10: '5' is not an item of the list 'a'; choose an item by its number, 0 to 0\n");
}

// `comm` may be a list, or a map with the list under `operations`.
class OverrideOfListForm : public testing::Test {
 protected:
  Node with_form(const std::string& text, const std::vector<std::string>& sets) {
    const ListForm form{{"program", "*"}, "operations"};
    Diagnostics diagnostics;
    auto root = load_text("s.yaml", text, {}, diagnostics);
    for (const Override& change : parse_sets(sets, diagnostics)) apply(change, *root, diagnostics, &form);
    errors_ = diagnostics.str();
    return std::move(*root);
  }
  std::string errors_;
};

TEST_F(OverrideOfListForm, AKeyMakesTheListAMap) {
  const Node root = with_form(scenario, {"program.comm.priority=high", "program.comm.0.all_gather.engine=dma"});
  EXPECT_EQ(errors_, "");
  const Node& comm = *root.find("program")->find("comm");
  ASSERT_TRUE(comm.is_map());
  EXPECT_EQ(comm.find("priority")->text, "high");
  EXPECT_EQ(comm.find("operations")->items[0].find("all_gather")->find("engine")->text, "dma");
  EXPECT_EQ(comm.place.str(), "s.yaml:2:9");
}

TEST_F(OverrideOfListForm, ANumberLeadsIntoTheListOfAMap) {
  const char* map = "program: {comm: {priority: 1, operations: [{a: {b: 1}}]}}\nother: {comm: [1]}\n";
  const Node root = with_form(map, {"program.comm.0.a.b=2", "program.comm.operations.0.a.c=3"});
  EXPECT_EQ(errors_, "");
  const Node& operation = *root.find("program")->find("comm")->find("operations")->items[0].find("a");
  EXPECT_EQ(operation.find("b")->text, "2");
  EXPECT_EQ(operation.find("c")->text, "3");
  with_form(map, {"program.comm.1.a.b=2"});
  EXPECT_EQ(errors_,
            "--set program.comm.1.a.b=2: '1' is not an item of the list 'program.comm'; choose an item by its number, "
            "0 to 0\n");
  with_form(map, {"other.comm.priority=2"});
  EXPECT_EQ(errors_,
            "--set other.comm.priority=2: 'priority' is not an item of the list 'other.comm'; choose an item by its "
            "number, 0 to 0\n");
}

}  // namespace
}  // namespace moire::config
