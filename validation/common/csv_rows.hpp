// Reads the rows of a CSV file with fixed columns, such as a grid of cases to measure.
#pragma once

#include <functional>
#include <string>

#include "csv_row.hpp"

// Calls `take` for every row of the file. `columns` is the line of column names that the file must have. Lines that
// begin with # are comments. Prints every error as file:line: what is wrong, and ends the program with status 2 if
// there was an error or no row.
void read_csv_rows(const std::string& path, const std::string& columns, const std::function<void(CsvRow&)>& take);
