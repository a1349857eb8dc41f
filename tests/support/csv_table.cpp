#include "tests/support/csv_table.hpp"

#include <fstream>
#include <sstream>

#include "tests/support/source_dir.hpp"

namespace moire::support {

std::vector<CsvRow> csv_table(const std::string& file) {
  std::ifstream lines(source_dir() + "/" + file);
  std::vector<std::string> columns;
  std::vector<CsvRow> rows;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::vector<std::string> cells;
    std::istringstream cut(line);
    for (std::string cell; std::getline(cut, cell, ',');) cells.push_back(cell);
    if (columns.empty()) {
      columns = cells;
      continue;
    }
    CsvRow& row = rows.emplace_back();
    for (std::size_t i = 0; i < columns.size(); ++i) row[columns[i]] = i < cells.size() ? cells[i] : "";
  }
  return rows;
}

}  // namespace moire::support
