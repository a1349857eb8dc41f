// Aligned text tables.
#pragma once

#include <string>
#include <vector>

namespace moire::report {

class Table {
 public:
  enum class Align { left, right };
  void column(std::string heading, Align align);
  void row(std::vector<std::string> cells);  // fewer cells than columns: the rest is empty
  void rule();                               // a line between rows

  std::string str() const;  // every line ends in a newline, none in blanks

 private:
  struct Column {
    std::string heading;
    Align align;
  };
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;  // an empty one is a rule
};

}  // namespace moire::report
