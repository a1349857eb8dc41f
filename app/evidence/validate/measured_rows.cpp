// Over 400 lines: every way in which a table of measurements can disagree with its description is checked in one place.
#include "app/evidence/validate/measured_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "sim/config/suggest.hpp"
#include "sim/formats/csv.hpp"
#include "sim/formats/number.hpp"

namespace moire::validate {

namespace {

using formats::CsvCell;
using formats::CsvTable;
using formats::number_in;

using config::Diagnostics;
using config::Dimension;
using config::in_quotes;
using config::Node;
using config::Place;

// The unit of a metric, and what is needed to convert numbers into this unit.
struct MetricUnit {
  std::string unit;  // "us", "B", "%", or "" for a count
  Dimension dimension() const {
    if (unit == "us") return Dimension::time;
    if (unit == "W") return Dimension::power;
    if (unit == "MHz") return Dimension::per_second;
    return unit == "B" ? Dimension::bytes : Dimension::ratio;
  }
  double base() const {  // returns the size of `unit` in base units: a microsecond is 1e6 ps
    return unit == "us" || unit == "MHz" ? 1e6 : unit == "%" ? 0.01 : 1;
  }
};

const Place& place_of(const Node& group, std::initializer_list<const char*> path) {
  const Node* at = &group;
  for (const char* key : path) {
    const Node* next = at->find(key);
    if (!next) break;
    at = next;
  }
  return at->place;
}

bool same_value(const std::string& a, const std::string& b) {
  const auto x = number_in<double>(a);
  const auto y = number_in<double>(b);
  return x && y ? *x == *y : a == b;
}

bool starts_column(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool in_column(char c) { return starts_column(c) || std::isdigit(static_cast<unsigned char>(c)) != 0; }

// Returns `text` with columns replaced by their values: "$bytes B" -> "65536 B". "$$" stands for a dollar. `cell`
// returns the value of a column, or nothing after it has reported an error. In this case, the result is nothing, too.
template <class Cell>
std::optional<std::string> filled_in(const std::string& text, const Cell& cell) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool braced = text.compare(i, 2, "${") == 0;
    const std::size_t begin = i + (braced ? 2 : 1);
    if (text[i] != '$' || begin >= text.size()) {
      out += text[i];
    } else if (text[begin] == '$' && !braced) {
      out += '$';
      ++i;
    } else if (braced || starts_column(text[begin])) {
      std::size_t end = begin;
      while (end < text.size() && (braced ? text[end] != '}' : in_column(text[end]))) ++end;
      const std::optional<std::string> value = cell(text.substr(begin, end - begin));
      if (!value) return std::nullopt;
      out += *value;
      i = braced ? end : end - 1;
    } else {
      out += text[i];
    }
  }
  return out;
}

// Returns the name of the column in "$bytes" or "${bytes}".
std::string column_in(const std::string& text) {
  if (text.size() > 3 && text.starts_with("${") && text.ends_with("}")) return text.substr(2, text.size() - 3);
  return text.size() > 1 ? text.substr(1) : "";
}

class Rows {
 public:
  Rows(const ScenarioGroupSpec& spec, const Node& node, bool predict, Diagnostics& diagnostics)
      : spec_(spec),
        node_(node),
        predict_(predict),
        diagnostics_(diagnostics),
        unit_{std::string(study::unit_of(spec.metric))} {}

  std::optional<MeasuredCases> read() {
    const std::size_t before = diagnostics_.size();
    paths();
    if (spec_.measured.file) {
      from_file();
    } else {
      literal();
    }
    if (diagnostics_.size() > before) return std::nullopt;
    return std::move(out_);
  }

 private:
  void paths() {
    const Node* set = node_.find("set");
    for (const auto& [path, value] : spec_.set) {
      Place place = value.place;
      if (set) {
        for (const Node::Entry& entry : set->entries)
          if (entry.key == path) place = entry.key_place;
      }
      paths_.push_back(config::parse_path(path, place, diagnostics_).value_or(std::vector<std::string>{}));
    }
  }

  // Adds one case, whose measured value is written in the validation file itself.
  void literal() {
    const MeasuredSpec& measured = spec_.measured;
    const Place& place = place_of(node_, {"measured"});
    if (!measured.source)
      diagnostics_.error(
          place, "a measured value states no source",
          "add 'source: \"where it was measured\"', or name the table that contains it, 'file: FILE.csv'");
    if (!measured.again.empty())
      diagnostics_.error(place_of(node_, {"measured", "again"}), "'again' needs 'file'", "remove it");
    if (measured.unit)
      diagnostics_.error(place_of(node_, {"measured", "unit"}), "'unit' needs 'file'",
                         "write the unit after the value, like 285.0 us");
    if (!spec_.rows.empty()) diagnostics_.error(place_of(node_, {"rows"}), "'rows' needs 'measured.file'", "remove it");
    if (!spec_.case_columns.is_null())
      diagnostics_.error(place_of(node_, {"case"}), "'case' needs 'measured.file'",
                         "remove it; the case has the name of its group");
    MeasuredCase one;
    one.name = spec_.name;
    one.value = quantity(measured.value, "value");
    if (one.value && *one.value <= 0) not_positive(place_of(node_, {"measured", "value"}), measured.value);
    if (measured.low) one.low = quantity(*measured.low, "low");
    if (measured.high) one.high = quantity(*measured.high, "high");
    changes({}, one);
    if (predict_) one.value = one.low = one.high = std::nullopt;
    out_.cases.push_back(std::move(one));
    if (measured.source) out_.origins.push_back({"", {{"source", *measured.source}}});
  }

  std::optional<double> quantity(const std::string& text, const char* key) {
    double value = 0;
    const auto problem = config::parse_quantity(text, unit_.dimension(), value);
    if (!problem) return value / unit_.base();
    diagnostics_.error(place_of(node_, {"measured", key}), fmt::format("'measured.{}': {}", key, problem->what),
                       problem->remedy);
    return std::nullopt;
  }

  void not_positive(const Place& place, const std::string& text) {
    diagnostics_.error(place, fmt::format("the measured value is {}", in_quotes(text)),
                       "it must be above 0, because the error is a percentage of it");
  }

  // Returns the factor that converts numbers of the file to the metric's unit.
  std::optional<double> factor() {
    const std::string wanted = unit_.unit.empty() ? "1" : unit_.unit;
    if (!spec_.measured.unit) {
      diagnostics_.error(place_of(node_, {"measured"}), "the key 'unit' is missing in measured",
                         fmt::format("add the unit of the numbers in the file, 'unit: {}'", wanted));
      return std::nullopt;
    }
    const std::string& unit = *spec_.measured.unit;
    double value = 0;
    const bool good = unit == "1" ? unit_.dimension() == Dimension::ratio
                                  : !config::parse_quantity("1 " + unit, unit_.dimension(), value);
    if (unit == "1") value = 1;
    if (good) return value / unit_.base();
    diagnostics_.error(place_of(node_, {"measured", "unit"}),
                       fmt::format("the unit {} does not match the metric '{}'", in_quotes(unit), spec_.metric),
                       fmt::format("use '{}'", wanted));
    return std::nullopt;
  }

  void from_file() {
    const auto file = formats::read_csv(*spec_.measured.file, place_of(node_, {"measured", "file"}), diagnostics_);
    const auto scale = factor();
    if (!file) return;
    const std::size_t before = diagnostics_.size();
    const auto named = [&](const std::optional<std::string>& column, const char* key) -> std::optional<std::size_t> {
      if (!column || predict_) return std::nullopt;
      return file->column(*column, place_of(node_, {"measured", key}), diagnostics_);
    };
    const auto value = named(spec_.measured.value, "value");
    const auto low = named(spec_.measured.low, "low");
    const auto high = named(spec_.measured.high, "high");
    const auto reference = named(spec_.measured.reference, "reference");
    const auto chosen = selection(*file);
    const auto names = case_columns(*file);
    check_set_columns(*file);
    if (diagnostics_.size() > before || !scale) return;
    out_.origins.push_back({file->name, file->about});

    std::map<std::string, Place> seen;
    std::size_t rows = 0;
    for (const auto& row : file->rows) {
      if (!chosen(row)) continue;
      ++rows;
      MeasuredCase one;
      one.name = name_of(*file, names, row);
      for (const std::size_t column : names) one.named_by.emplace_back(file->columns[column], row[column].text);
      const auto [same, fresh] = seen.emplace(one.name, row.front().place);
      if (!fresh)
        diagnostics_.error(
            row.front().place,
            fmt::format("this row is called {}, like the row on line {}", in_quotes(one.name), same->second.line),
            "name columns in 'case' that distinguish the rows, or choose fewer rows with 'rows'");
      if (value && row[*value].text.empty()) {
        out_.left_out.push_back(std::move(one.name));
        continue;
      }
      if (value) one.value = number(row[*value], *scale);
      if (one.value && *one.value <= 0) not_positive(row[*value].place, row[*value].text);
      if (low) one.low = optional_number(row[*low], *scale);
      if (high) one.high = optional_number(row[*high], *scale);
      if (reference) one.reference = optional_number(row[*reference], *scale);
      row_ = &row;
      changes(file->columns, one);
      out_.cases.push_back(std::move(one));
    }
    for (const std::filesystem::path& again : spec_.measured.again) measured_again(again, *scale);
    if (rows == 0) {
      diagnostics_.error(place_of(node_, {spec_.rows.empty() ? "measured" : "rows"}),
                         fmt::format("no row of {} is chosen", in_quotes(file->name)), what_there_is(*file));
    } else if (out_.cases.empty()) {
      diagnostics_.error(place_of(node_, {"measured", "value"}),
                         fmt::format("none of the chosen rows ({}) has a measured value", rows),
                         "write measured values, or use 'moire validate --predict' to print the simulated values "
                         "before a measurement");
    }
  }

  // Adds the values of the cases that another machine measured, too.
  void measured_again(const std::filesystem::path& path, double scale) {
    if (predict_) return;
    const auto file = formats::read_csv(path, place_of(node_, {"measured", "again"}), diagnostics_);
    if (!file) return;
    const std::size_t before = diagnostics_.size();
    const auto value = file->column(spec_.measured.value, place_of(node_, {"measured", "value"}), diagnostics_);
    const auto chosen = selection(*file);
    const auto names = case_columns(*file);
    if (diagnostics_.size() > before) return;
    out_.origins.push_back({file->name, file->about});
    std::map<std::string, double> values;
    for (const auto& row : file->rows) {
      if (!chosen(row) || row[*value].text.empty()) continue;
      const auto measured = number(row[*value], scale);
      if (measured && *measured <= 0) not_positive(row[*value].place, row[*value].text);
      if (measured) values.emplace(name_of(*file, names, row), *measured);
    }
    for (MeasuredCase& one : out_.cases) {
      const auto found = values.find(one.name);
      one.again.push_back(found == values.end() ? std::nullopt : std::optional(found->second));
    }
  }

  // Returns a function that returns true for the rows that `rows` of the group selects.
  std::function<bool(const std::vector<CsvCell>&)> selection(const CsvTable& file) {
    std::vector<std::pair<std::size_t, std::vector<std::string>>> wanted;
    const Node* rows = node_.find("rows");
    for (std::size_t i = 0; i < spec_.rows.size(); ++i) {
      const auto& [name, value] = spec_.rows[i];
      const Place& place = rows && i < rows->entries.size() ? rows->entries[i].key_place : value.place;
      const auto column = file.column(name, place, diagnostics_);
      std::vector<std::string> values;
      const std::vector<Node> items = value.is_sequence() ? value.items : std::vector<Node>{value};
      for (const Node& item : items) {
        if (item.is_scalar()) {
          values.push_back(item.text);
        } else {
          diagnostics_.error(item.place, fmt::format("'rows.{}' is {}, not a value", name, found(item)),
                             "write a value of the column, or a list of them");
        }
      }
      if (column) wanted.emplace_back(*column, std::move(values));
    }
    return [wanted](const std::vector<CsvCell>& row) {
      return std::all_of(wanted.begin(), wanted.end(), [&row](const auto& one) {
        return std::any_of(one.second.begin(), one.second.end(),
                           [&](const std::string& value) { return same_value(row[one.first].text, value); });
      });
    };
  }

  // Returns a hint for an empty selection: the values that exist in the columns of `rows`.
  std::string what_there_is(const CsvTable& file) const {
    if (file.rows.empty()) return "the file has no rows below the column names";
    std::vector<std::string> columns;
    for (const auto& [name, value] : spec_.rows) {
      const auto at = std::find(file.columns.begin(), file.columns.end(), name);
      std::vector<std::string> values;
      for (const auto& row : file.rows) {
        const std::string& text = row[static_cast<std::size_t>(at - file.columns.begin())].text;
        if (std::find(values.begin(), values.end(), text) == values.end()) values.push_back(text);
      }
      constexpr std::size_t shown = 8;
      if (values.size() > shown) {
        values.resize(shown);
        values.emplace_back("...");
      }
      columns.push_back(name + " is one of " + config::join(values));
    }
    return config::join(columns, "; ");
  }

  std::vector<std::size_t> case_columns(const CsvTable& file) {
    std::vector<std::size_t> columns;
    const Node& given = spec_.case_columns;
    if (given.is_null()) {
      if (!given.broken)
        diagnostics_.error(node_.place, "the key 'case' is missing in a group with 'measured.file'",
                           "name the column, or a list of columns, that distinguishes its rows: 'case: name'");
      return columns;
    }
    const std::vector<Node> items = given.is_sequence() ? given.items : std::vector<Node>{given};
    for (const Node& item : items) {
      if (!item.is_scalar()) {
        diagnostics_.error(item.place, fmt::format("'case' is {}, not a column", found(item)),
                           "write a column, or a list of columns");
      } else if (const auto column = file.column(item.text, item.place, diagnostics_)) {
        columns.push_back(*column);
      }
    }
    return columns;
  }

  static std::string name_of(const CsvTable& file, const std::vector<std::size_t>& columns,
                             const std::vector<CsvCell>& row) {
    if (columns.size() == 1) return row[columns.front()].text;
    std::vector<std::string> words;
    for (const std::size_t column : columns) words.push_back(file.columns[column] + "=" + row[column].text);
    return config::join(words, " ");
  }

  std::optional<double> number(const CsvCell& cell, double scale) {
    if (const auto value = number_in<double>(cell.text)) return *value * scale;
    diagnostics_.error(cell.place, in_quotes(cell.text) + " is not a number",
                       "write digits like 285.0, or nothing if nothing was measured");
    return std::nullopt;
  }
  std::optional<double> optional_number(const CsvCell& cell, double scale) {
    return cell.text.empty() ? std::nullopt : number(cell, scale);
  }

  void check_set_columns(const CsvTable& file) {
    for (const auto& [path, value] : spec_.set) check_columns(value, file);
  }
  void check_columns(const Node& value, const CsvTable& file) {
    for (const Node& item : value.items) check_columns(item, file);
    for (const Node::Entry& entry : value.entries) check_columns(entry.value, file);
    if (!value.is_scalar() || value.top) return;
    filled_in(value.text, [&](const std::string& name) -> std::optional<std::string> {
      file.column(name, value.place, diagnostics_);
      return "";
    });
  }

  // Adds the changes of the group's `set` to `into`. Replaces "$column" in them by the value in the current row.
  void changes(const std::vector<std::string>& columns, MeasuredCase& into) {
    for (std::size_t i = 0; i < spec_.set.size(); ++i) {
      Node value = spec_.set[i].second;
      if (paths_[i].empty() || value.broken || !fill(value, columns)) continue;
      const std::string shown = value.is_scalar() ? value.text : found(value);
      std::string text = fmt::format("{}: {} ({})", spec_.set[i].first, shown, value.place.str());
      into.changes.push_back({paths_[i], std::move(text), value.place, std::move(value)});
    }
  }

  bool fill(Node& value, const std::vector<std::string>& columns) {
    if (value.top) return true;  // the content of an included file
    bool good = true;
    for (Node& item : value.items) good = fill(item, columns) && good;
    for (Node::Entry& entry : value.entries) good = fill(entry.value, columns) && good;
    if (!value.is_scalar() || value.text.find('$') == std::string::npos) return good;
    const Place written = value.place;
    const CsvCell* used = nullptr;
    auto text = filled_in(value.text, [&](const std::string& name) -> std::optional<std::string> {
      const auto column = std::find(columns.begin(), columns.end(), name);
      if (column == columns.end()) {
        if (columns.empty())
          diagnostics_.error(written, fmt::format("'${}' stands for a column, but there is no table", name),
                             "write the value, or $$ for a dollar");
        return std::nullopt;
      }
      used = &(*row_)[static_cast<std::size_t>(column - columns.begin())];
      if (used->text.empty()) {
        diagnostics_.error(used->place, fmt::format("column '{}' is empty in a row with a measured value", name),
                           "the case needs it; write its value");
        return std::nullopt;
      }
      return used->text;
    });
    if (!text) return false;
    const bool whole = value.text == "$" + column_in(value.text) || value.text == "${" + column_in(value.text) + "}";
    value.text = std::move(*text);
    if (used) value.place = used->place;  // an error in the value states the cell's position
    if (whole && used && (value.text.front() == '{' || value.text.front() == '[')) return read_as_yaml(value) && good;
    return good;
  }

  // Parses the text of a cell that contains a map or a list, and stores the result in `value`. Files in the text are
  // relative to the table's folder. Returns false if the text has errors, which are reported.
  bool read_as_yaml(Node& value) {
    Diagnostics own;
    const auto tree = config::load_text(value.place.str(), value.text, {}, own);
    for (const config::Diagnostic& error : own.sorted()) diagnostics_.error(value.place, error.what, error.remedy);
    if (!tree || !own.ok()) return false;
    const Place place = value.place;
    value = *tree;
    value.top = false;
    stand_at(place, value);
    return true;
  }
  static void stand_at(const Place& place, Node& node) {
    if (node.top) return;  // the content of an included file
    node.place = place;
    for (Node& item : node.items) stand_at(place, item);
    for (Node::Entry& entry : node.entries) {
      entry.key_place = place;
      stand_at(place, entry.value);
    }
  }

  const ScenarioGroupSpec& spec_;
  const Node& node_;
  const bool predict_;
  Diagnostics& diagnostics_;
  const MetricUnit unit_;
  std::vector<std::vector<std::string>> paths_;  // the path of each change in `set`, as keys; no keys if invalid
  const std::vector<CsvCell>* row_ = nullptr;
  MeasuredCases out_;
};

}  // namespace

std::optional<MeasuredCases> read_measured(const ScenarioGroupSpec& spec, const Node& node, bool predict,
                                           Diagnostics& diagnostics) {
  return Rows(spec, node, predict, diagnostics).read();
}

}  // namespace moire::validate
