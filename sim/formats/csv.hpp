// Reads and writes CSV. Readers and writers use the same rule for quotes. A table that was read has the place (line and
// column) of every cell.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/config/diagnostics.hpp"

namespace moire::formats {

// Returns the text without spaces and tabs at both ends.
std::string_view trimmed(std::string_view text);

// Returns the text as a field of a CSV line. A field that contains a comma, a quote or a line end, or starts with '#',
// is put in quotes. Line ends become spaces, so that a row stays one line.
std::string csv_field(const std::string& text);

// One field of a line, without its quotes.
struct CsvField {
  std::string text;
  std::size_t col = 1;  // the column at which the field starts, counted from 1
};

// Splits a line into its fields. A quoted field may contain commas, and two quotes "" in it stand for one quote. If the
// closing quote of a field is missing, or is not at the end of the field, `unclosed` is the column of the first such
// field, whose text is undefined. Otherwise `unclosed` is 0.
std::vector<CsvField> csv_fields(std::string_view line, std::size_t& unclosed);

struct CsvCell {
  std::string text;
  config::Place place;
};

// A table has a line of column names, then rows with as many fields. Lines `# key: value` describe the origin of the
// numbers. Empty lines are ignored.
struct CsvTable {
  std::string name;                                        // the table's name in messages
  std::vector<std::pair<std::string, std::string>> about;  // the `# key: value` lines
  std::vector<std::string> columns;
  config::Place header;  // place of the line of column names
  std::vector<std::vector<CsvCell>> rows;

  // Returns the index of a column. If there is no such column, reports at `asked` which columns exist.
  std::optional<std::size_t> column(const std::string& wanted, const config::Place& asked,
                                    config::Diagnostics& diagnostics) const;
};

// Reads a plain or zstd-compressed (*.zst) file of at most 64 MiB of text. If the file is invalid, returns nothing and
// reports the reasons. `asked` is the place at which the file's name was written.
std::optional<CsvTable> read_csv(const std::filesystem::path& file, const config::Place& asked,
                                 config::Diagnostics& diagnostics);
// Does the same with a text in memory. `name` is the text's name in messages.
std::optional<CsvTable> read_csv_text(const std::filesystem::path& name, std::string_view text,
                                      config::Diagnostics& diagnostics);

}  // namespace moire::formats
