#include <algorithm>

#include "app/report/formats.hpp"
#include "sim/config/diagnostics.hpp"

namespace moire::report {

namespace {

constexpr std::size_t gap = 2;

// Returns the number of characters on the screen: continuation bytes of UTF-8 have no width.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

// Removes control characters: names come from users, and a terminal could take them for commands.
std::string shown_lines(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    out += config::printable(text.substr(0, end));
    if (end < text.size()) out += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

// Aligns the columns of a table that text shows. Every line ends in a newline, and no line ends in blanks.
class Aligned {
 public:
  explicit Aligned(const Table& table) : table_(table) {
    for (std::size_t c = 0; c < table.columns.size(); ++c)
      if ((table.columns[c].readers & in::text) != 0) columns_.push_back(c);
    widths_.resize(columns_.size());
    if (table.headings) {
      std::vector<std::string> headings;
      for (const std::size_t c : columns_) headings.push_back(table.columns[c].heading);
      add(std::move(headings));
    }
    for (const auto& row : table.rows) {
      std::vector<std::string> cells;
      for (const std::size_t c : columns_)
        cells.push_back(c < row.size() && !row[c].missing() ? shown(row[c]) : table.columns[c].missing);
      add(std::move(cells));
    }
  }

  std::string text() const {
    std::size_t whole = widths_.empty() ? 0 : gap * (widths_.size() - 1);
    for (const std::size_t width : widths_) whole += width;
    const std::string rule = std::string(whole, '-') + "\n";
    const std::size_t first = table_.headings ? 1 : 0;
    std::string out = table_.headings ? line(lines_.front()) + rule : "";
    for (std::size_t row = 0; row < table_.rows.size(); ++row) {
      if (std::count(table_.rules.begin(), table_.rules.end(), row) > 0) out += rule;
      out += line(lines_[first + row]);
    }
    for (const std::string& note : table_.footnotes) out += note + "\n";
    return out;
  }

 private:
  void add(std::vector<std::string> cells) {
    for (std::size_t i = 0; i < cells.size(); ++i) widths_[i] = std::max(widths_[i], width_of(cells[i]));
    lines_.push_back(std::move(cells));
  }

  std::string line(const std::vector<std::string>& cells) const {
    std::string out;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string pad(widths_[i] - width_of(cells[i]), ' ');
      if (i > 0) out.append(gap, ' ');
      out += table_.columns[columns_[i]].align == Align::left ? cells[i] + pad : pad + cells[i];
    }
    out.erase(out.find_last_not_of(' ') + 1);
    return out + "\n";
  }

  const Table& table_;
  std::vector<std::size_t> columns_;  // indices of the columns shown
  std::vector<std::size_t> widths_;
  std::vector<std::vector<std::string>> lines_;
};

// Writes the parts of a document as text. An empty line separates two parts.
struct Text {
  std::string out;

  void part(const std::string& text) {
    if (!text.empty()) out += (out.empty() ? "" : "\n") + text;
  }
  void operator()(const Field&) {}
  void operator()(const Figures&) {}
  void operator()(const Note& note) { part(note.text + "\n"); }
  void operator()(const Table& table) { part(text_of(table)); }
  void operator()(const List& list) {
    std::string lines;
    for (const std::string& item : list.items) lines += item + "\n";
    part(lines);
  }
  void operator()(const Terms& terms) {
    std::string lines;
    for (const auto& [word, said] : terms.terms) {
      lines += word + "\n";
      for (const std::string& line : said) lines += "  " + line + "\n";
    }
    part(lines);
  }
  void operator()(const Section& section) {
    if (!section.heading.empty())
      part(section.heading + (section.about.empty() ? "" : " (" + section.about + ")") + "\n");
    write_parts(section, in::text, *this);
  }
};

}  // namespace

std::string text_of(const Table& table) { return shown_lines(Aligned(table).text()); }

std::string write_text(const Document& document) {
  Text text;
  if (document.title) text.part(*document.title + "\n");
  write_parts(document, in::text, text);
  return shown_lines(text.out);
}

}  // namespace moire::report
