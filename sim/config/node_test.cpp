#include "sim/config/node.hpp"

#include <gtest/gtest.h>

#include "sim/config/load.hpp"

namespace moire::config {
namespace {

std::string errors(const std::string& text, const LoadOptions& options = {}) {
  Diagnostics diagnostics;
  load_text("f.yaml", text, {}, diagnostics, options);
  return diagnostics.str();
}

Node tree(const std::string& text) {
  Diagnostics diagnostics;
  auto root = load_text("f.yaml", text, {}, diagnostics);
  EXPECT_TRUE(diagnostics.ok()) << diagnostics.str();
  return root ? std::move(*root) : Node{};
}

TEST(Node, KeepsOrderKeysAndPositions) {
  const Node root = tree("z: 1\na:\n  - x\n  - {k: v}\nn:\n");
  EXPECT_EQ(root.keys(), (std::vector<std::string>{"z", "a", "n"}));
  EXPECT_EQ(root.entries[1].key_place.str(), "f.yaml:2:1");
  EXPECT_EQ(root.find("a")->items[1].find("k")->place.str(), "f.yaml:4:9");
  EXPECT_TRUE(root.find("n")->is_null());
  EXPECT_EQ(root.find("n")->place.str(), "f.yaml:5:1");
  EXPECT_EQ(root.find("missing"), nullptr);
  EXPECT_TRUE(root.top);
}

TEST(Node, QuotedTextIsKnownAsSuch) {
  const Node root = tree("a: plain\nb: \"quoted\"\nc: 'it''s'\nd: |\n  it's\n");
  EXPECT_FALSE(root.find("a")->quoted);
  EXPECT_TRUE(root.find("b")->quoted);
  EXPECT_EQ(root.find("c")->text, "it's");
  EXPECT_EQ(root.find("d")->text, "it's\n");
}

TEST(Node, DuplicateKeysNameTheFirst) {
  EXPECT_EQ(errors("a: 1\nb: {c: 1, c: 2}\na: 3\n"),
            "f.yaml:2:11: duplicate key 'c'; first set at f.yaml:2:5, keep one\n"
            "f.yaml:3:1: duplicate key 'a'; first set at f.yaml:1:1, keep one\n");
}

TEST(Node, AliasesAreCopies) {
  const Node root = tree("a: &x {k: [1, 2]}\nb: *x\n");
  EXPECT_EQ(root.find("b")->find("k")->items.size(), 2u);
  EXPECT_EQ(root.find("b")->place.str(), "f.yaml:1:4");
}

TEST(Node, BadAliases) {
  EXPECT_EQ(errors("a: *x\n"),
            "f.yaml:1:4: bad YAML: the referenced anchor is not defined; define it with &name before using *name\n");
  EXPECT_EQ(errors("a: &x [*x]\n"),
            "f.yaml:1:8: this alias is used inside the value that it names; write the value out\n");
}

TEST(Node, AliasesCannotBlowUp) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string last = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + last;
    for (int j = 0; j < 8; ++j) text += ", " + last;
    text += "]\n";
  }
  EXPECT_NE(errors(text).find("the configuration has too many values; large inputs belong in trace files"),
            std::string::npos);
}

TEST(Node, DepthAndSizeAreLimited) {
  EXPECT_EQ(errors(std::string(100, '[') + std::string(100, ']')), "");
  EXPECT_NE(errors(std::string(101, '[') + std::string(101, ']')).find("nested deeper than 100 levels; flatten them"),
            std::string::npos);
  EXPECT_EQ(errors("[a, b, c]", {.nodes = 3}),
            "f.yaml:1:8: the configuration has too many values; large inputs belong in trace files\n");
}

TEST(Node, AliasesCannotNestTooDeep) {
  std::string text = "a0: &a0 x\n";
  for (int i = 1; i < 120; ++i) {
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [*a" + std::to_string(i - 1) + "]\n";
  }
  EXPECT_NE(errors(text).find("nested deeper than 100 levels"), std::string::npos);
}

TEST(Node, BadYamlSaysWhereAndWhatWouldBeRight) {
  EXPECT_EQ(errors("a: b: c\n"),
            "f.yaml:1:5: bad YAML: illegal map value; put quotes around a text that contains ': ', and check the "
            "indentation\n");
  EXPECT_EQ(
      errors("a: [1, 2\n"),
      "f.yaml:2:1: bad YAML: end of sequence flow not found; close the bracket: every { and [ needs its } or ]\n");
  EXPECT_EQ(errors("a:\n\t- b\n"), "f.yaml:2:2: bad YAML: illegal block entry; indent with spaces, not with tabs\n");
  EXPECT_EQ(errors("a: 1\n}\n"),
            "f.yaml:2:1: bad YAML: illegal flow end; check quotes, brackets and indentation here\n");
  EXPECT_EQ(errors("a: @x\n"),
            "f.yaml:1:4: bad YAML: unknown token; put quotes around a text that starts with @, ` or %\n");
}

TEST(Node, UnclosedQuotes) {
  EXPECT_EQ(errors("a: \"b\n"), "f.yaml:1:4: this quote is never closed; close it\n");
  EXPECT_EQ(errors("é: &x 'b''\n"), "f.yaml:1:5: this quote is never closed; close it\n");
  EXPECT_EQ(errors("a: \"b\\\"\n"), "f.yaml:1:4: this quote is never closed; close it\n");
  EXPECT_EQ(errors("a: 'b'\nc: \"d\\\\\"\n"), "");
}

TEST(Node, OneDocumentAFile) {
  EXPECT_EQ(errors("a: 1\n---\nb: 2\n"),
            "f.yaml:2:1: a second document starts here; indent all top-level keys alike, and keep one document in a "
            "file\n");
  EXPECT_EQ(errors(""), "f.yaml:1:1: the file is empty; write at least one key\n");
  EXPECT_EQ(errors("# nothing\n"), "f.yaml:1:1: the file is empty; write at least one key\n");
}

TEST(Node, WhatYamlAllowsAndWeDoNot) {
  EXPECT_EQ(errors("a: !!int 3\n"), "f.yaml:1:4: tags are not supported: 'tag:yaml.org,2002:int'; leave the tag out\n");
  EXPECT_EQ(errors("{a: 1}: 2\n"),
            "f.yaml:1:1: a key must be text, not a map; write 'key: value', and close every bracket\n");
  EXPECT_EQ(errors("~: 2\n"),
            "f.yaml:1:1: a key must be text, not nothing; write 'key: value', and close every bracket\n");
  EXPECT_EQ(errors(std::string("a: \0", 4)),
            "f.yaml:1:1: this is not a text file: it contains a zero byte; save it as UTF-8\n");
}

}  // namespace
}  // namespace moire::config
