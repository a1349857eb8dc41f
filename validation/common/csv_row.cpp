#include "csv_row.hpp"

#include <cstdio>
#include <cstdlib>
#include <sstream>

CsvRow::CsvRow(const std::string& text, const std::string& place) : place_(place) {
  std::stringstream cells(text);
  for (std::string cell; std::getline(cells, cell, ',');) cells_.push_back(cell);
}

void CsvRow::fail(const std::string& what) {
  std::fprintf(stderr, "%s: %s\n", place_.c_str(), what.c_str());
  good_ = false;
}

double CsvRow::number(size_t column, double least, double most) {
  char* end = nullptr;
  const double value = std::strtod(cells_[column].c_str(), &end);
  if (cells_[column].empty() || *end != '\0' || !(value >= least && value <= most)) {
    fail("'" + cells_[column] + "' in column " + std::to_string(column + 1) + "; a number from " +
         std::to_string(least) + " to " + std::to_string(most) + " would be right");
    return least;
  }
  return value;
}

int CsvRow::whole(size_t column, int least, int most) {
  const double value = number(column, least, most);
  if (value != double(int(value))) fail("'" + cells_[column] + "' is not a whole number");
  return int(value);
}

int CsvRow::one_of(size_t column, const std::vector<std::string>& words) {
  std::string right;
  for (size_t i = 0; i < words.size(); ++i) {
    if (cells_[column] == words[i]) return int(i);
    right += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  }
  fail("'" + cells_[column] + "' in column " + std::to_string(column + 1) + "; " + right + " would be right");
  return 0;
}

void CsvRow::unique(size_t column, const std::string& what, std::set<std::string>& seen) {
  if (!seen.insert(cells_[column]).second) fail("a second " + what + " of the name " + cells_[column]);
}
