// A document is the report of a command: fields, notes, tables and figures, in order. A command makes one document of
// its result, and the functions of formats.hpp write it for people or for programs. Cells keep the type of their value,
// so numbers stay numbers.
//
//   Document document{.title = "Fused against bulk-synchronous"};
//   document.add(Field{"scenario", "c3"});
//   Table table{.key = "runs", .columns = {left("variant"), right("time").keyed("time_us")}};
//   table.row({"fused", in_us(time)});
//   document.add(std::move(table));
//
// text    Fused against bulk-synchronous / variant      time / fused    43.12 us
// JSON    {"scenario": "c3", "runs": [{"variant": "fused", "time_us": 43.125}]}
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "app/report/number.hpp"
#include "app/report/plot.hpp"

namespace moire::report {

// The kinds of readers. Each part of a document and each column of a table is meant for some of them. A format writes
// what is meant for one kind of reader.
namespace in {
inline constexpr unsigned text = 1;
inline constexpr unsigned page = 2;
inline constexpr unsigned csv = 4;
inline constexpr unsigned json = 8;
inline constexpr unsigned people = text | page;
inline constexpr unsigned programs = csv | json;
inline constexpr unsigned all = people | programs;
}  // namespace in

// How a page highlights a cell or a text. note: a remark; held: a limit is met; beyond: a limit is exceeded, or a run
// has failed.
enum class Mark { none, note, held, beyond };

struct Field;

struct Cell {
  using List = std::vector<Cell>;
  using Record = std::vector<Field>;
  // monostate: a missing value, which programs do not see. nullptr: a missing value, which is null in JSON. Only
  // programs see records.
  std::variant<std::monostate, std::nullptr_t, std::string, Number, std::int64_t, bool, List, Record> value;
  Mark mark = Mark::none;

  Cell();
  Cell(std::nullptr_t);
  Cell(std::string text);
  Cell(const char* text);
  Cell(std::string_view text);
  Cell(Number number);
  Cell(double number);
  Cell(bool truth);
  Cell(std::integral auto whole);
  Cell(List list);
  Cell(Record record);
  Cell(const std::vector<std::string>& texts);
  template <class T>
  Cell(const std::optional<T>& known);

  // True if the value is a monostate or a nullptr. People see a dash or nothing for it.
  bool missing() const { return value.index() < 2; }
  Cell marked(Mark with) &&;
};

// A named value for programs.
struct Field {
  std::string key;
  Cell value;
};

// Field, and with it Cell::Record, is a complete type from here on.
inline Cell::Cell() = default;
template <class T>
Cell::Cell(const std::optional<T>& known) : Cell(known ? Cell(*known) : Cell()) {}
inline Cell::Cell(std::nullptr_t) : value(nullptr) {}
inline Cell::Cell(std::string text) : value(std::move(text)) {}
inline Cell::Cell(const char* text) : value(std::string(text)) {}
inline Cell::Cell(std::string_view text) : value(std::string(text)) {}
inline Cell::Cell(Number number) : value(std::move(number)) {}
inline Cell::Cell(double number) : value(Number{.value = number}) {}
inline Cell::Cell(bool truth) : value(truth) {}
Cell::Cell(std::integral auto whole) : value(static_cast<std::int64_t>(whole)) {}
inline Cell::Cell(List list) : value(std::move(list)) {}
inline Cell::Cell(Record record) : value(std::move(record)) {}
inline Cell Cell::marked(Mark with) && {
  mark = with;
  return std::move(*this);
}

// Returns the text that people read: the items of a list joined by commas, and an empty text for a record.
std::string shown(const Cell& cell);

enum class Align { left, right };

struct Column {
  std::string heading;  // for people
  std::string key;      // for programs
  Align align = Align::left;
  unsigned readers = in::all;
  std::string missing = {};  // what people read for a missing cell

  Column keyed(std::string name) &&;  // sets `key`, the name for programs
  Column or_dash() &&;                // people read a dash for a missing cell
};

Column left(const std::string& name, unsigned readers = in::all);
Column right(const std::string& name, unsigned readers = in::all);

struct Table {
  std::string key = {};  // the array in JSON; empty: not in JSON
  std::vector<Column> columns = {};
  std::vector<std::vector<Cell>> rows = {};  // a row may be shorter than the columns
  std::vector<std::size_t> rules = {};       // text has a line before the rows with these numbers
  std::vector<std::string> footnotes = {};   // below the table
  bool headings = true;                      // false: text has rows only

  void row(std::vector<Cell> cells) { rows.push_back(std::move(cells)); }
  void rule() { rules.push_back(rows.size()); }
  Cell::Record record(std::size_t row) const;  // the row as JSON shows it
};

// A paragraph. A text of several lines keeps its line breaks.
struct Note {
  std::string text;
  Mark mark = Mark::none;
};

// Lines of text, which a page shows as a list.
struct List {
  std::vector<std::string> items;
  Mark mark = Mark::none;
};

// Terms, each with its explanations.
struct Terms {
  std::vector<std::pair<std::string, std::vector<std::string>>> terms;
};

struct Figures {
  std::vector<Figure> figures;
};

struct Part;

// The parts of a document or a section, in order.
struct Parts {
  std::vector<Part> parts;
  // Adds a part for these readers. The default does not contain CSV, so a table is in CSV only if `readers` contains
  // in::csv.
  template <class What>
  void add(What what, unsigned readers = in::people | in::json);
};

// In JSON, a section is an object in the array that has the name `key`. If `key` is empty, JSON leaves the section out.
struct Section : Parts {
  std::string key;
  std::string heading;  // empty: no line for it
  std::string about;
};

struct Part {
  std::variant<Field, Note, List, Terms, Table, Figures, Section> what;
  unsigned readers = in::all;
};

struct Document : Parts {
  std::optional<std::string> title;
};

template <class What>
void Parts::add(What what, unsigned readers) {
  parts.push_back({std::move(what), readers});
}

// Calls `writer` with each part that is meant for `reader`, in order.
void write_parts(const Parts& parts, unsigned reader, auto& writer) {
  for (const Part& part : parts.parts)
    if ((part.readers & reader) != 0) std::visit(writer, part.what);
}

}  // namespace moire::report
