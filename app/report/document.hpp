// What a product says: fields, notes, tables, figures, in order. A product makes one document of its result;
// formats.hpp writes it for people and for programs. Cells are typed values: a number is a number for whoever reads it.
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

// Whom a part or a column is for. A format reads the document as one of them.
namespace in {
inline constexpr unsigned text = 1;
inline constexpr unsigned page = 2;
inline constexpr unsigned csv = 4;
inline constexpr unsigned json = 8;
inline constexpr unsigned people = text | page;
inline constexpr unsigned programs = csv | json;
inline constexpr unsigned all = people | programs;
}  // namespace in

// How a page sets something off.
enum class Mark { none, note, held, beyond };

struct Field;

struct Cell {
  using List = std::vector<Cell>;
  using Record = std::vector<Field>;
  // Nothing: programs do not see it; nullptr: JSON has null. Records are for programs.
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

  // To people: in the two first cases.
  bool missing() const { return value.index() < 2; }
  Cell marked(Mark with) &&;
};

// What programs read by a name.
struct Field {
  std::string key;
  Cell value;
};

// Here a Record is complete.
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

// As people read it; a list's items are joined by commas, a record is nothing to them.
std::string shown(const Cell& cell);

enum class Align { left, right };

struct Column {
  std::string heading;  // for people
  std::string key;      // for programs
  Align align = Align::left;
  unsigned readers = in::all;
  std::string missing = {};  // what people read where a cell is missing

  Column keyed(std::string name) &&;  // where programs call it something else
  Column or_dash() &&;                // where a cell is missing
};

Column left(const std::string& name, unsigned readers = in::all);
Column right(const std::string& name, unsigned readers = in::all);

struct Table {
  std::string key = {};  // JSON has an array of objects under it; none: not in JSON
  std::vector<Column> columns = {};
  std::vector<std::vector<Cell>> rows = {};  // shorter than the columns: the rest is missing
  std::vector<std::size_t> rules = {};       // a line before the row of this number, in text
  std::vector<std::string> footnotes = {};   // right below
  bool headings = true;                      // none: rows alone, in text

  void row(std::vector<Cell> cells) { rows.push_back(std::move(cells)); }
  void rule() { rules.push_back(rows.size()); }
  Cell::Record record(std::size_t row) const;  // as JSON has it
};

// A paragraph; one of several lines is left as it is.
struct Note {
  std::string text;
  Mark mark = Mark::none;
};

struct List {
  std::vector<std::string> items;
  Mark mark = Mark::none;
};

// Words and what is to be said of each.
struct Terms {
  std::vector<std::pair<std::string, std::vector<std::string>>> terms;
};

struct Figures {
  std::vector<Figure> figures;
};

struct Part;

struct Parts {
  std::vector<Part> parts;
  // Tables are in CSV where `readers` says so.
  template <class What>
  void add(What what, unsigned readers = in::people | in::json);
};

// JSON appends it to an array under its key; without a key its fields and tables are for people alone.
struct Section : Parts {
  std::string key;
  std::string heading;  // none: no line of its own
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

// Gives `writer` what `reader` reads, in order.
void write_parts(const Parts& parts, unsigned reader, auto& writer) {
  for (const Part& part : parts.parts)
    if ((part.readers & reader) != 0) std::visit(writer, part.what);
}

}  // namespace moire::report
