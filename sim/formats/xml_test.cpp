#include "sim/formats/xml.hpp"

#include <gmock/gmock.h>

#include "sim/formats/xml_attributes.hpp"

namespace moire::formats {
namespace {

using ::testing::HasSubstr;

std::string errors_of(const std::string& text) {
  config::Diagnostics diagnostics;
  Complaints complaints("t.xml", diagnostics);
  const XmlText xml("t.xml", text, complaints, "write <a>");
  EXPECT_EQ(xml.ok(), diagnostics.ok());
  return diagnostics.str();
}

TEST(XmlText, ElementsAttributesAndTextsKnowWhereTheyStand) {
  config::Diagnostics diagnostics;
  Complaints complaints("t.xml", diagnostics);
  const XmlText xml("t.xml", "<?xml version=\"1.0\"?>\n<a>\n <b x='&lt;&amp;' y=\"2\"/>text</a>", complaints, "");
  ASSERT_TRUE(xml.ok()) << diagnostics.str();
  const auto at = [&](Position position) { return complaints.place(position).str(); };
  const pugi::xml_node b = xml.root().child("b");
  EXPECT_EQ(at(xml.position(xml.root())), "t.xml:2:1");
  EXPECT_EQ(at(xml.position(b)), "t.xml:3:2");
  EXPECT_EQ(at(xml.position(b, "y")), "t.xml:3:19") << "behind a value that was shortened in place";
  EXPECT_EQ(at(xml.position(b, "z")), "t.xml:3:2") << "the element, where it has no such attribute";
  EXPECT_EQ(at(xml.position(b.next_sibling())), "t.xml:3:26");
  EXPECT_STREQ(b.attribute("x").value(), "<&");
}

TEST(XmlText, WhatIsNoXmlIsTold) {
  EXPECT_EQ(errors_of(""), "t.xml:1:1: the file is empty: it has no XML element; write <a>\n");
  EXPECT_EQ(errors_of("<a>\n<b></a>"),
            "t.xml:2:6: this is not well-formed XML: start-end tags mismatch; is the file cut off?\n");
  EXPECT_EQ(errors_of(std::string("<a>\0</a>", 8)),
            "t.xml:1:4: this is not well-formed XML: a zero byte; name a text file in UTF-8\n");
  EXPECT_EQ(errors_of("<a/>\n<b/>"), "t.xml:2:1: there is a second top element; put everything into one <a>\n");
  EXPECT_EQ(errors_of("<a/>\n<!-- as before -->\n text"),
            "t.xml:3:2: there is text outside of the top element; put everything into one <a>\n");
  std::string deep;
  for (int i = 0; i < 100'000; ++i) deep += "<a>";
  for (int i = 0; i < 100'000; ++i) deep += "</a>";
  EXPECT_THAT(errors_of(deep), HasSubstr("t.xml:1:196: elements are nested deeper than 64 levels"));
}

TEST(XmlAttributes, AreKnownCompleteAndInRange) {
  static constexpr std::array<KnownAttribute, 2> known = {{{"n"}, {"m", false}}};
  const auto read = [](const std::string& element) {
    config::Diagnostics diagnostics;
    {
      Complaints complaints("t.xml", diagnostics);
      const XmlText xml("t.xml", element, complaints, "");
      XmlAttributes<2> attributes(known);
      const auto name = [] { return std::string("step 1"); };
      bool good = attributes.read(xml.root(), xml, name, complaints);
      attributes.integer(0, xml, name, complaints, good, 0, 9);
      EXPECT_EQ(good, diagnostics.ok());
    }
    return diagnostics.str() + diagnostics.warnings();
  };
  EXPECT_EQ(read("<a n='9'/>"), "");
  EXPECT_EQ(read("<a m='1'/>"), "t.xml:1:1: step 1: the attribute n is missing; every a needs it\n");
  EXPECT_EQ(read("<a n='10'/>"), "t.xml:1:4: step 1: n is '10', which is out of range; write 0 to 9\n");
  EXPECT_EQ(read("<a n='x'/>"), "t.xml:1:4: step 1: n is 'x', not an integer; write 0 to 9\n");
  EXPECT_EQ(read("<a n='1' n='2'/>"), "t.xml:1:10: step 1: n appears twice; keep one of them\n");
  EXPECT_EQ(read("<a n='1' o='2'/>"), "t.xml:1:10: warning: 'o' of a is ignored\n");
}

}  // namespace
}  // namespace moire::formats
