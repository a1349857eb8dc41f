#include "app/report/document.hpp"

#include <fmt/format.h>

namespace moire::report {

namespace {

struct Shown {
  std::string operator()(std::monostate) const { return {}; }
  std::string operator()(std::nullptr_t) const { return {}; }
  std::string operator()(const std::string& text) const { return text; }
  std::string operator()(const Number& number) const { return shown(number); }
  std::string operator()(std::int64_t whole) const { return fmt::format("{}", whole); }
  std::string operator()(bool truth) const { return truth ? "yes" : "no"; }
  std::string operator()(const Cell::List& list) const {
    std::string out;
    for (const Cell& cell : list) out += (out.empty() ? "" : ", ") + shown(cell);
    return out;
  }
  std::string operator()(const Cell::Record&) const { return {}; }
};

}  // namespace

Cell::Cell(const std::vector<std::string>& texts) : value(List(texts.begin(), texts.end())) {}

std::string shown(const Cell& cell) { return std::visit(Shown(), cell.value); }

Column Column::keyed(std::string name) && {
  key = std::move(name);
  return std::move(*this);
}

Column Column::or_dash() && {
  missing = "-";
  return std::move(*this);
}

Column left(const std::string& name, unsigned readers) { return {name, name, Align::left, readers}; }
Column right(const std::string& name, unsigned readers) { return {name, name, Align::right, readers}; }

Cell::Record Table::record(std::size_t row) const {
  Cell::Record record;
  for (std::size_t c = 0; c < columns.size() && c < rows[row].size(); ++c) {
    const Cell& cell = rows[row][c];
    if ((columns[c].readers & in::json) != 0 && !std::holds_alternative<std::monostate>(cell.value))
      record.push_back({columns[c].key, cell});
  }
  return record;
}

}  // namespace moire::report
