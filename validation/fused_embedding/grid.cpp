#include "grid.hpp"

#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <set>

#include "csv_rows.hpp"

std::vector<Point> read_grid(const std::string& path, int ranks) {
  std::vector<Point> points;
  std::set<std::string> names;
  read_csv_rows(path, kGridColumns, [&](CsvRow& row) {
    Point p;
    p.name = row.text(0);
    row.unique(0, "point", names);
    if (p.name.empty() || p.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") != std::string::npos)
      row.fail("name '" + p.name + "'; lower-case letters, digits and _ would be right: files are named after it");
    Shape& s = p.shape;
    s.ranks = ranks;
    s.tables_per_gpu = row.whole(1, 1, 1024);
    s.global_batch = row.whole(2, 1, 1 << 20);
    s.pooling = row.whole(3, 1, 256);
    s.dim = row.whole(4, 4, 1024);
    s.dtype = Dtype(row.one_of(5, {std::begin(kDtypeNames), std::end(kDtypeNames)}));
    s.zipf = row.number(6, 0, 4);
    s.rows_per_table = row.whole(7, 1, 1 << 30);
    s.bags_per_task = row.whole(8, 1, 4096);
    const bool chosen = row.whole(9, 0, 1) == 1 || ranks != 2;
    if (row.good() && chosen && !s.problem().empty()) row.fail(s.problem());
    if (chosen) points.push_back(p);
  });
  if (points.empty()) {
    std::fprintf(stderr, "%s: no point for %d GPUs\n", path.c_str(), ranks);
    std::exit(2);
  }
  return points;
}
