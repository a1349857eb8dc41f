// CSV: one quoting rule for readers and writers, and whole tables with the place of every cell.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/config/diagnostics.hpp"

namespace moire::formats {

// A text without the blanks around it.
std::string_view trimmed(std::string_view text);

// A field of a CSV line, in quotes where it has to be: with a comma, a quote, a line end, or '#' in front. Line ends
// become spaces, since a row is a line.
std::string csv_field(const std::string& text);

// One field of a line, without its quotes.
struct CsvField {
  std::string text;
  std::size_t col = 1;  // where it starts, from 1
};

// The fields of a line without its end. A field in quotes may hold commas, and "" for a quote. Where a quote is not
// closed before a comma or the end, `unclosed` gets the field's column and its text means nothing; else 0.
std::vector<CsvField> csv_fields(std::string_view line, std::size_t& unclosed);

struct CsvCell {
  std::string text;
  config::Place place;
};

// A line of column names and rows of as many fields, after `# key: value` lines that tell where the numbers come from.
// Empty lines mean nothing.
struct CsvTable {
  std::string name;                                        // as errors show it
  std::vector<std::pair<std::string, std::string>> about;  // the `# key: value` lines
  std::vector<std::string> columns;
  config::Place header;  // of the column names
  std::vector<std::vector<CsvCell>> rows;

  // Number of the column; a diagnostic at `asked` that says what columns there are.
  std::optional<std::size_t> column(const std::string& wanted, const config::Place& asked,
                                    config::Diagnostics& diagnostics) const;
};

// Plain, or zstd-compressed (*.zst), at most 64 MiB of text. Nothing, and the reasons, where it cannot be read.
// `asked` is where its name was written.
std::optional<CsvTable> read_csv(const std::filesystem::path& file, const config::Place& asked,
                                 config::Diagnostics& diagnostics);
// The same of a text.
std::optional<CsvTable> read_csv_text(const std::filesystem::path& name, std::string_view text,
                                      config::Diagnostics& diagnostics);

}  // namespace moire::formats
