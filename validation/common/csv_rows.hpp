// The rows of a CSV file whose columns are fixed: a grid of what to measure.
#pragma once

#include <functional>
#include <string>

#include "csv_row.hpp"

// Calls `take` for every row. Lines that begin with # are comments. Prints every error as file:line: what is wrong, and
// ends the program with status 2 if there was one, or no row.
void read_csv_rows(const std::string& path, const std::string& columns, const std::function<void(CsvRow&)>& take);
