// The formats in which a document is written. Each format has a file write_<name>.cpp and a line in the list of
// formats.cpp. The option `--format`, its help and its error messages are made from this list. A format writes equal
// documents as equal bytes.
#pragma once

#include <string>
#include <vector>

#include "app/report/document.hpp"

namespace moire::report {

struct Format {
  std::string name;       // as in --format
  std::string extension;  // of files, with the dot
  std::string (*write)(const Document& document);
};

const std::vector<Format>& formats();           // the first format is the default
const Format& format(const std::string& name);  // `name` must be that of one of the formats

// Returns titles, notes and aligned tables for a terminal.
std::string write_text(const Document& document);
// Returns one line for each row of a table. Consecutive tables with the same columns become one table.
std::string write_csv(const Document& document);
std::string write_json(const Document& document);
std::string write_json(const std::vector<Document>& documents);  // as an array
// Returns a self-contained page with figures. Throws core::RunFailure if gnuplot is missing.
std::string write_html(const Document& document);
// Returns Markdown for a pull request or a wiki.
std::string write_markdown(const Document& document);

std::string text_of(const Table& table);

}  // namespace moire::report
