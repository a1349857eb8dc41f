#include "sim/formats/json.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "sim/formats/json_fields.hpp"

namespace moire::formats {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string errors_of(const std::string& text) {
  config::Diagnostics diagnostics;
  EXPECT_FALSE(read_json("p.json", text, diagnostics));
  return diagnostics.str();
}

TEST(Json, ValuesKnowWhereTheyStand) {
  config::Diagnostics diagnostics;
  const auto json = read_json("p.json", "{\"a\": [1,\n  -2.5, \"x\"],\n \"b\": {\"c\": true}}", diagnostics);
  ASSERT_TRUE(json) << diagnostics.str();
  const JsonValue& list = *json->root.find("a");
  EXPECT_EQ(json->place(list).str(), "p.json:1:7");
  EXPECT_EQ(json->place(list.items[1]).str(), "p.json:2:3");
  EXPECT_EQ(json->place(list.items[2]).str(), "p.json:2:9");
  EXPECT_EQ(json->place(*json->root.find("b")->find("c")).str(), "p.json:3:13");
  EXPECT_EQ(found(list.items[1]), "'-2.5'");
}

TEST(Json, WhatIsNoJsonIsTold) {
  EXPECT_THAT(errors_of("{\"name\": \"x\",\n \"gpus\": [}"), HasSubstr("p.json:2:11: not JSON"));
  EXPECT_THAT(errors_of(""), HasSubstr("p.json:1:1: not JSON"));
  EXPECT_THAT(errors_of("{\"a\": 1,\n\"a\": 2}"), HasSubstr("p.json:2:1: the key 'a' appears twice"));
  EXPECT_THAT(errors_of(std::string(100000, '[')), HasSubstr("nested deeper than 64 levels"));
  std::string keys;
  for (int i = 0; i < 1000; ++i) keys += fmt::format("\"k{}\": 0, ", i);
  EXPECT_THAT(errors_of("{" + keys + "\"b\": []}"), HasSubstr("the map has more than 256 keys"));
}

TEST(JsonFields, WhatIsMissingOrWrongIsToldAndReadingGoesOn) {
  config::Diagnostics diagnostics;
  const auto json = read_json("p.json", "{\"n\": 7, \"f\": 1, \"l\": [1, 2, -3]}", diagnostics);
  ASSERT_TRUE(json);
  {
    Complaints complaints(diagnostics);
    const JsonFields fields(*json, json->root, "the map", complaints);
    EXPECT_EQ(fields.number("n", 9), 7U);
    EXPECT_EQ(fields.number("absent", 9, 5), 5U);
    EXPECT_EQ(fields.number("n", 6), 0U);
    EXPECT_EQ(fields.text("t"), "");
    EXPECT_FALSE(fields.flag("f", false));
    EXPECT_THAT(fields.counts("l", 9, 3), ElementsAre(1, 2, 0));
    EXPECT_TRUE(fields.list("l", 2).empty());
  }
  EXPECT_EQ(diagnostics.str(),
            "p.json:1:1: the map has no 't'; add \"t\"\n"
            "p.json:1:7: the map: n is 7; write an integer from 0 to 6\n"
            "p.json:1:15: the map: f is 1; true or false\n"
            "p.json:1:23: the map: l has 3 entries; at most 2\n"
            "p.json:1:30: the map: l is -3; write an integer from 0 to 9\n");
}

}  // namespace
}  // namespace moire::formats
