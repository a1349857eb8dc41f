// Reads measured tables of the source tree.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace moire::support {

using CsvRow = std::map<std::string, std::string>;  // cells by the name of their column

// Returns the rows of a CSV file. `file` is relative to the root of the source tree. Lines that begin with # are
// comments; the first other line has the names of the columns. Cells contain no commas.
std::vector<CsvRow> csv_table(const std::string& file);

}  // namespace moire::support
