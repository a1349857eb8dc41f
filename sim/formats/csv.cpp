#include "sim/formats/csv.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/config/suggest.hpp"
#include "sim/formats/complaints.hpp"
#include "sim/formats/file.hpp"

namespace moire::formats {

namespace {

constexpr std::size_t most_bytes = 64UL << 20;

class TableReader {
 public:
  TableReader(CsvTable& table, Complaints& complaints) : table_(table), complaints_(complaints) {}

  void read(std::string_view text) {
    while (!text.empty() && !complaints_.stopped()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      std::string_view one = text.substr(0, end);
      if (one.ends_with('\r')) one.remove_suffix(1);
      ++line_;
      line(one);
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    if (table_.columns.empty() && complaints_.ok())
      complaints_.error(line_, 1, "the line of column names is missing", "write it, followed by one line per case");
  }

 private:
  void line(std::string_view text) {
    if (text.find_first_not_of(" \t") == std::string_view::npos) return;
    if (text[0] == '#') return about(text);
    std::size_t unclosed = 0;
    const std::vector<CsvField> fields = csv_fields(text, unclosed);
    if (unclosed != 0) {
      complaints_.error(line_, unclosed, "a quote is not closed before the comma or the end of the line",
                        "write \"...\", with \"\" for a quote inside");
    }
    if (table_.columns.empty()) {
      columns(fields);
    } else if (unclosed == 0) {
      row(fields);
    }
  }

  // Reads a line "# key: value". A comment without a colon, such as the format's name, becomes a key without a value.
  void about(std::string_view text) {
    const std::string_view rest = trimmed(text.substr(1));
    const std::size_t colon = rest.find(": ");
    if (rest.empty()) return;
    if (colon == std::string_view::npos) {
      table_.about.emplace_back(std::string(rest), "");
    } else {
      table_.about.emplace_back(std::string(trimmed(rest.substr(0, colon))),
                                std::string(trimmed(rest.substr(colon + 2))));
    }
  }

  config::Place place(std::size_t col) const {
    return complaints_.place({static_cast<std::uint32_t>(line_), static_cast<std::uint32_t>(col)});
  }

  void columns(const std::vector<CsvField>& fields) {
    table_.header = place(1);
    for (const CsvField& field : fields) {
      if (std::find(table_.columns.begin(), table_.columns.end(), field.text) != table_.columns.end())
        complaints_.error(line_, field.col, "column " + config::in_quotes(field.text) + " appears twice",
                          "name it once");
      table_.columns.push_back(field.text);
    }
  }

  void row(const std::vector<CsvField>& fields) {
    if (fields.size() != table_.columns.size()) {
      complaints_.error(line_, 1,
                        fmt::format("{} field{}, but there are {} columns", fields.size(),
                                    fields.size() == 1 ? "" : "s", table_.columns.size()),
                        "write one field per column; put quotes around a field that contains a comma");
      return;
    }
    auto& cells = table_.rows.emplace_back();
    for (const CsvField& field : fields) cells.push_back({field.text, place(field.col)});
  }

  CsvTable& table_;
  Complaints& complaints_;
  std::int64_t line_ = 0;
};

}  // namespace

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos && (text.empty() || text[0] != '#')) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c == '\n' || c == '\r' ? ' ' : c;
  }
  return out + "\"";
}

std::vector<CsvField> csv_fields(std::string_view line, std::size_t& unclosed) {
  unclosed = 0;
  std::vector<CsvField> fields;
  for (std::size_t at = 0;; ++at) {
    CsvField& field = fields.emplace_back();
    field.col = at + 1;
    if (at < line.size() && line[at] == '"') {
      bool open = true;
      for (++at; at < line.size() && open; ++at) {
        if (line[at] != '"') {
          field.text += line[at];
        } else if (at + 1 < line.size() && line[at + 1] == '"') {
          field.text += line[++at];
        } else {
          open = false;
        }
      }
      if (open || (at < line.size() && line[at] != ',')) {
        if (unclosed == 0) unclosed = field.col;
        at = std::min(line.find(',', at), line.size());
      }
    } else {
      const std::size_t end = std::min(line.find(',', at), line.size());
      field.text = line.substr(at, end - at);
      at = end;
    }
    if (at >= line.size()) return fields;
  }
}

std::optional<std::size_t> CsvTable::column(const std::string& wanted, const config::Place& asked,
                                            config::Diagnostics& diagnostics) const {
  const auto known = std::find(columns.begin(), columns.end(), wanted);
  if (known != columns.end()) return static_cast<std::size_t>(known - columns.begin());
  diagnostics.error(asked, fmt::format("no column {} in {}", config::in_quotes(wanted), config::in_quotes(name)),
                    config::suggestion(wanted, columns, "columns there"));
  return std::nullopt;
}

std::optional<CsvTable> read_csv(const std::filesystem::path& file, const config::Place& asked,
                                 config::Diagnostics& diagnostics) {
  const auto text = read_file({.file = file, .place = asked}, most_bytes, diagnostics);
  if (!text) return std::nullopt;
  if (text->find('\0') != std::string::npos) {
    diagnostics.error(asked, config::in_quotes(file.string()) + " is not a text file", "name a .csv or .csv.zst file");
    return std::nullopt;
  }
  return read_csv_text(file, *text, diagnostics);
}

std::optional<CsvTable> read_csv_text(const std::filesystem::path& name, std::string_view text,
                                      config::Diagnostics& diagnostics) {
  Complaints complaints(name.string(), diagnostics, Complaints::Beyond::unread);
  CsvTable table;
  table.name = name.string();
  table.header = complaints.place({1, 1});
  TableReader(table, complaints).read(text);
  if (!complaints.ok()) return std::nullopt;
  return table;
}

}  // namespace moire::formats
