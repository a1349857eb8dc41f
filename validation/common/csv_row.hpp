// One line of a CSV file that a person wrote: its cells, with checks that say where and what is wrong.
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

  void fail(const std::string& what);  // prints it behind the place
  double number(size_t column, double least, double most);
  int whole(size_t column, int least, int most);
  // Which of `words` the cell is; 0 after a failure.
  int one_of(size_t column, const std::vector<std::string>& words);
  // Fails where an earlier row had the same name: `seen` has those of the rows before.
  void unique(size_t column, const std::string& what, std::set<std::string>& seen);

 private:
  std::string place_;
  std::vector<std::string> cells_;
  bool good_ = true;
};
