#include "app/report/table.hpp"

#include <gtest/gtest.h>

namespace moire::report {
namespace {

TEST(Table, AlignsColumnsAndEndsNoLineInBlanks) {
  Table table;
  table.column("name", Table::Align::left);
  table.column("time", Table::Align::right);
  table.row({"a", "1.5 us"});
  table.rule();
  table.row({"longer name"});
  EXPECT_EQ(table.str(),
            "name           time\n"
            "-------------------\n"
            "a            1.5 us\n"
            "-------------------\n"
            "longer name\n");
}

TEST(Table, CountsCharactersNotBytes) {
  Table table;
  table.column("n", Table::Align::left);
  table.column("v", Table::Align::right);
  table.row({"µs", "1"});
  EXPECT_EQ(table.str(), "n   v\n-----\nµs  1\n");
}

}  // namespace
}  // namespace moire::report
