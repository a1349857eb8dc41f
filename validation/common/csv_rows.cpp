#include "csv_rows.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>

void read_csv_rows(const std::string& path, const std::string& columns, const std::function<void(CsvRow&)>& take) {
  std::ifstream file(path);
  if (!file) {
    std::perror(path.c_str());
    std::exit(2);
  }
  const size_t cells = size_t(std::count(columns.begin(), columns.end(), ',')) + 1;
  bool good = true, header = false, any = false;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.empty() || line[0] == '#') continue;
    CsvRow row(line, path + ":" + std::to_string(number));
    if (!header) {
      header = true;
      if (line != columns) row.fail("the columns are not " + columns);
      if (!row.good()) std::exit(2);
      continue;
    }
    if (row.size() != cells) {
      row.fail(std::to_string(row.size()) + " cells; " + std::to_string(cells) + " would be right");
    } else {
      any = true;
      take(row);
    }
    good &= row.good();
  }
  if (good && !any) {
    std::fprintf(stderr, "%s: it has no row\n", path.c_str());
    good = false;
  }
  if (!good) std::exit(2);
}
