// One line of a hand-written CSV file: its cells, with checks that report the position and the mistake.
#pragma once

#include <set>
#include <string>
#include <vector>

class CsvRow {
 public:
  CsvRow(const std::string& text, const std::string& place);

  size_t size() const { return cells_.size(); }
  const std::string& text(size_t column) const { return cells_[column]; }
  bool good() const { return good_; }

  void fail(const std::string& what);  // printed after the position
  double number(size_t column, double least, double most);
  int whole(size_t column, int least, int most);
  // The index of the cell's text in `words`; 0 after a failure.
  int one_of(size_t column, const std::vector<std::string>& words);
  // Fails if an earlier row had the same name; `seen` holds the names of the earlier rows.
  void unique(size_t column, const std::string& what, std::set<std::string>& seen);

 private:
  std::string place_;
  std::vector<std::string> cells_;
  bool good_ = true;
};
