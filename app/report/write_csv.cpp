#include <fmt/format.h>

#include "app/report/formats.hpp"
#include "sim/formats/csv.hpp"

namespace moire::report {

namespace {

std::string value_of(const Cell& cell) {
  if (const auto* number = std::get_if<Number>(&cell.value)) return fmt::format("{}", number->for_programs());
  return formats::csv_field(shown(cell));
}

struct Csv {
  std::string out;
  std::string header;  // of the previous table

  void operator()(const auto&) {}
  void operator()(const Section& section) { write_parts(section, in::csv, *this); }
  void operator()(const Table& table) {
    std::string names;
    for (const Column& column : table.columns)
      if ((column.readers & in::csv) != 0) names += (names.empty() ? "" : ",") + formats::csv_field(column.key);
    if (names != header) out += (out.empty() ? "" : "\n") + names + "\n";
    header = names;
    for (const auto& row : table.rows) {
      std::string line;
      bool first = true;
      for (std::size_t c = 0; c < table.columns.size(); ++c) {
        if ((table.columns[c].readers & in::csv) == 0) continue;
        if (!first) line += ",";
        first = false;
        if (c < row.size()) line += value_of(row[c]);
      }
      out += line + "\n";
    }
  }
};

}  // namespace

std::string write_csv(const Document& document) {
  Csv csv;
  write_parts(document, in::csv, csv);
  return csv.out;
}

}  // namespace moire::report
