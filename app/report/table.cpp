#include "app/report/table.hpp"

#include <algorithm>

namespace moire::report {

namespace {

constexpr std::size_t gap = 2;

// Characters, not bytes: UTF-8 continuation bytes take no room.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

void trim_end(std::string& line) { line.erase(line.find_last_not_of(' ') + 1); }

}  // namespace

void Table::column(std::string heading, Align align) { columns_.push_back({std::move(heading), align}); }

void Table::row(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  rows_.push_back(std::move(cells));
}

void Table::rule() { rows_.emplace_back(); }

std::string Table::str() const {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::size_t width = width_of(columns_[c].heading);
    for (const auto& row : rows_) width = std::max(width, row.empty() ? 0 : width_of(row[c]));
    widths.push_back(width);
  }
  std::size_t whole = 0;
  for (const std::size_t width : widths) whole += width;
  whole += widths.empty() ? 0 : gap * (widths.size() - 1);

  std::string out;
  const auto add = [&](const auto& text_of) {
    std::string line;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const std::string& text = text_of(c);
      const std::string pad(widths[c] - width_of(text), ' ');
      if (c > 0) line.append(gap, ' ');
      line += columns_[c].align == Align::left ? text + pad : pad + text;
    }
    trim_end(line);
    out += line + "\n";
  };
  add([this](std::size_t c) -> const std::string& { return columns_[c].heading; });
  out += std::string(whole, '-') + "\n";
  for (const auto& row : rows_) {
    if (row.empty()) {
      out += std::string(whole, '-') + "\n";
    } else {
      add([&row](std::size_t c) -> const std::string& { return row[c]; });
    }
  }
  return out;
}

}  // namespace moire::report
