#include "grid.hpp"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

namespace {

class Row {
 public:
  Row(const std::string& text, const std::string& place) : place_(place) {
    std::stringstream cells(text);
    for (std::string cell; std::getline(cells, cell, ',');) cells_.push_back(cell);
  }

  size_t size() const { return cells_.size(); }
  const std::string& text(size_t column) const { return cells_[column]; }
  bool good() const { return good_; }

  void fail(const std::string& what) {
    std::fprintf(stderr, "%s: %s\n", place_.c_str(), what.c_str());
    good_ = false;
  }

  double number(size_t column, double least, double most) {
    char* end = nullptr;
    const double value = std::strtod(cells_[column].c_str(), &end);
    if (cells_[column].empty() || *end != '\0' || !(value >= least && value <= most)) {
      fail("'" + cells_[column] + "' in column " + std::to_string(column + 1) + "; a number from " +
           std::to_string(least) + " to " + std::to_string(most) + " would be right");
      return least;
    }
    return value;
  }

  int whole(size_t column, int least, int most) {
    const double value = number(column, least, most);
    if (value != double(int(value))) fail("'" + cells_[column] + "' is not a whole number");
    return int(value);
  }

 private:
  std::string place_;
  std::vector<std::string> cells_;
  bool good_ = true;
};

Dtype dtype_of(Row& row, size_t column) {
  for (int d = 0; d < 3; ++d)
    if (row.text(column) == kDtypeNames[d]) return Dtype(d);
  row.fail("dtype '" + row.text(column) + "'; fp32, fp16 or bf16 would be right");
  return Dtype::fp32;
}

}  // namespace

std::vector<Point> read_grid(const std::string& path, int ranks) {
  std::ifstream file(path);
  if (!file) {
    std::perror(path.c_str());
    std::exit(2);
  }
  std::vector<Point> points;
  std::set<std::string> names;
  bool good = true, header = false;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.empty() || line[0] == '#') continue;
    Row row(line, path + ":" + std::to_string(number));
    if (!header) {
      header = true;
      if (line != kGridColumns) row.fail(std::string("the columns are not ") + kGridColumns);
      if (!row.good()) std::exit(2);
      continue;
    }
    if (row.size() != 10) {
      row.fail(std::to_string(row.size()) + " cells; 10 would be right");
      good = false;
      continue;
    }
    Point p;
    p.name = row.text(0);
    if (!names.insert(p.name).second) row.fail("a second point of the name " + p.name);
    if (p.name.empty() || p.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") != std::string::npos)
      row.fail("name '" + p.name + "'; lower-case letters, digits and _ would be right: files are named after it");
    Shape& s = p.shape;
    s.ranks = ranks;
    s.tables_per_gpu = row.whole(1, 1, 1024);
    s.global_batch = row.whole(2, 1, 1 << 20);
    s.pooling = row.whole(3, 1, 256);
    s.dim = row.whole(4, 4, 1024);
    s.dtype = dtype_of(row, 5);
    s.zipf = row.number(6, 0, 4);
    s.rows_per_table = row.whole(7, 1, 1 << 30);
    s.bags_per_task = row.whole(8, 1, 4096);
    const bool chosen = row.whole(9, 0, 1) == 1 || ranks != 2;
    if (row.good() && chosen && !s.problem().empty()) row.fail(s.problem());
    good &= row.good();
    if (chosen) points.push_back(p);
  }
  if (good && points.empty()) {
    std::fprintf(stderr, "%s: no point for %d GPUs\n", path.c_str(), ranks);
    good = false;
  }
  if (!good) std::exit(2);
  return points;
}
