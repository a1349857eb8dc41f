// The formats that a document is written in. A format is a file that writes documents, write_<name>.cpp, and one line
// in formats.cpp; `--format`, its help and what it says of unknown names come from there. Same document, same bytes.
#pragma once

#include <string>
#include <vector>

#include "app/report/document.hpp"

namespace moire::report {

struct Format {
  std::string name;       // of --format
  std::string extension;  // of files, with its dot
  std::string (*write)(const Document& document);
};

const std::vector<Format>& formats();           // the first one is what is written where nothing is said
const Format& format(const std::string& name);  // one of them

// Titles, notes and aligned tables.
std::string write_text(const Document& document);
// One line a row; tables of the same columns that follow each other are one table.
std::string write_csv(const Document& document);
std::string write_json(const Document& document);
std::string write_json(const std::vector<Document>& documents);  // an array
// A self-contained page with figures. Throws core::RunFailure where gnuplot is missing.
std::string write_html(const Document& document);
// Text for a pull request or a wiki.
std::string write_markdown(const Document& document);

std::string text_of(const Table& table);

}  // namespace moire::report
