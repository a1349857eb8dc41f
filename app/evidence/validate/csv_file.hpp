// A small table of measured values: CSV with a line of column names, after `# key: value` lines that tell where the
// numbers come from. Plain, or zstd-compressed (*.zst).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/config/diagnostics.hpp"

namespace moire::validate {

struct CsvCell {
  std::string text;
  config::Place place;
};

struct CsvFile {
  std::string name;                                        // as errors show it
  std::vector<std::pair<std::string, std::string>> about;  // the `# key: value` lines
  std::vector<std::string> columns;
  config::Place header;  // of the column names
  std::vector<std::vector<CsvCell>> rows;

  // Number of the column; a diagnostic at `asked` that says what columns there are.
  std::optional<std::size_t> column(const std::string& wanted, const config::Place& asked,
                                    config::Diagnostics& diagnostics) const;
};

// Nothing, and the reasons, where the file cannot be read. `asked` is where its name was written.
std::optional<CsvFile> read_csv(const std::filesystem::path& file, const config::Place& asked,
                                config::Diagnostics& diagnostics);

// A number as it stands in a cell or a table of rows: decimal, no unit. Nothing where the text is no finite number.
std::optional<double> number_in(const std::string& text);

}  // namespace moire::validate
