#include "app/report/document.hpp"

#include <gmock/gmock.h>

#include <set>

#include "app/report/formats.hpp"

namespace moire::report {
namespace {

using testing::HasSubstr;
using testing::Not;

// A document with a field, a table whose columns are for different readers, and a section.
Document example() {
  Document document;
  document.title = "Fused & plain";
  document.add(Field{"scenario", "example"}, in::json);
  Table runs{.key = "runs",
             .columns = {left("variant"), right("time").keyed("time_us"), right("worst").or_dash(),
                         right("of ideal", in::people), right("ranks", in::programs)}};
  runs.row({"fused, \"a\"", in_us(Time::from_us(43.125)), nullptr, share(0.5), 8});
  runs.rule();
  runs.row({"plain", in_us(Time::from_us(1000)), share(0.25)});
  runs.footnotes = {"left out: one"};
  document.add(std::move(runs), in::all);
  Section section;
  section.key = "groups";
  section.heading = "A group";
  section.about = "2 cases";
  section.add(Field{"name", "group"}, in::json);
  section.add(Note{"All is held.", Mark::held});
  document.add(std::move(section));
  return document;
}

TEST(Document, TextIsForPeople) {
  EXPECT_EQ(write_text(example()),
            "Fused & plain\n"
            "\n"
            "variant           time   worst  of ideal\n"
            "----------------------------------------\n"
            "fused, \"a\"    43.12 us       -    50.0 %\n"
            "----------------------------------------\n"
            "plain       1000.00 us  25.0 %\n"
            "left out: one\n"
            "\n"
            "A group (2 cases)\n"
            "\n"
            "All is held.\n");
}

TEST(Document, CsvHasWholeNumbersAndQuotesWhatHasTo) {
  EXPECT_EQ(write_csv(example()),
            "variant,time_us,worst,ranks\n"
            "\"fused, \"\"a\"\"\",43.125,,8\n"
            "plain,1000,0.25,\n");
}

TEST(Document, TablesOfTheSameColumnsAreOneInCsv) {
  Document document;
  for (const char* name : {"a", "b"}) {
    Table table{.columns = {left("name")}};
    table.row({name});
    document.add(std::move(table), in::csv);
  }
  Table other{.columns = {left("case")}};
  other.row({"c"});
  document.add(std::move(other), in::csv);
  EXPECT_EQ(write_csv(document), "name\na\nb\n\ncase\nc\n");
}

TEST(Document, JsonHasTypedValues) {
  EXPECT_EQ(write_json(example()), R"({
  "scenario": "example",
  "runs": [
    {
      "variant": "fused, \"a\"",
      "time_us": 43.125,
      "worst": null,
      "ranks": 8
    },
    {
      "variant": "plain",
      "time_us": 1000.0,
      "worst": 0.25
    }
  ],
  "groups": [
    {
      "name": "group"
    }
  ]
}
)");
}

TEST(Document, APageEscapesAndMarks) {
  const std::string page = write_html(example());
  EXPECT_THAT(page, HasSubstr("<h1>Fused &amp; plain</h1>"));
  EXPECT_THAT(page,
              HasSubstr("<td class=\"text\">fused, &quot;a&quot;</td><td>43.12 us</td><td>-</td><td>50.0 %</td>"));
  EXPECT_THAT(page, HasSubstr("<h2>A group</h2>\n<p class=\"note\">2 cases</p>\n<p class=\"held\">All is held.</p>"));
  EXPECT_THAT(page, Not(HasSubstr("example")));
}

TEST(Document, MarkdownHasTablesAndNoMarkupByAccident) {
  EXPECT_EQ(write_markdown(example()),
            "# Fused & plain\n"
            "\n"
            "| variant | time | worst | of ideal |\n"
            "| --- | ---: | ---: | ---: |\n"
            "| fused, \"a\" | 43.12 us | - | 50.0 % |\n"
            "| plain | 1000.00 us | 25.0 % |  |\n"
            "\n"
            "left out: one\n"
            "\n"
            "## A group\n"
            "\n"
            "2 cases\n"
            "\n"
            "All is held.\n");
  Document document;
  document.add(Note{"_all_ of all_to_all is 2 * 3 | 4"});
  document.add(Note{"# two\n  lines\n"});
  document.add(List{{"-j 2", "<none>"}});
  EXPECT_EQ(write_markdown(document),
            "\\_all\\_ of all_to_all is 2 \\* 3 \\| 4\n"
            "\n"
            "    # two\n"
            "      lines\n"
            "\n"
            "- \\-j 2\n"
            "- \\<none>\n");
}

TEST(Document, WidthsAreOfCharactersAndNoLineEndsInBlanks) {
  Table table{.columns = {left("n"), right("v"), left("w")}};
  table.row({"µs", 1});
  EXPECT_EQ(text_of(table), "n   v  w\n--------\nµs  1\n");
  table.headings = false;
  EXPECT_EQ(text_of(table), "µs  1\n");
}

TEST(Formats, EachHasANameAndAnExtensionOfItsOwn) {
  std::set<std::string> seen;
  for (const Format& one : formats()) {
    EXPECT_TRUE(seen.insert(one.name).second && seen.insert(one.extension).second) << one.name;
    EXPECT_FALSE(one.write(example()).empty()) << one.name;
    EXPECT_EQ(&format(one.name), &one);
  }
}

}  // namespace
}  // namespace moire::report
