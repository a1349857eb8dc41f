// One line of a hand-written CSV file. Functions that read its cells check them, and print the position of a wrong cell
// and what is wrong.
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

  void fail(const std::string& what);  // prints the position (`place`) and `what`
  double number(size_t column, double least, double most);
  int whole(size_t column, int least, int most);
  // Returns the index of the cell's text in `words`. If the text is not among them, fails and returns 0.
  int one_of(size_t column, const std::vector<std::string>& words);
  // Fails if an earlier row had the same text in this column. `seen` holds the texts of the earlier rows, and `what` is
  // what the message calls them.
  void unique(size_t column, const std::string& what, std::set<std::string>& seen);

 private:
  std::string place_;
  std::vector<std::string> cells_;
  bool good_ = true;
};
