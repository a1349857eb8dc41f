#include "sim/program/wg_trace_rows.hpp"

#include <fmt/format.h>

#include <cstring>

#include "sim/config/suggest.hpp"
#include "sim/formats/number.hpp"

namespace moire::program {

namespace {

using config::in_quotes;

struct Range {
  std::int64_t least;
  std::int64_t most;
  std::string_view what;
};

constexpr Range ns{0, wg_trace_latest_ns, "an integer number of nanoseconds since the recording began"};
constexpr Range amount{0, wg_trace_most_bytes, "a whole amount"};
// The range of each column. check_row() also compares values with the metadata. Kind and unit are not numbers.
constexpr std::array<Range, wg_trace_columns> ranges = {{
    {0, 0, {}},
    {0, wg_trace_most_ranks - 1, "a rank number"},
    {0, wg_trace_most_wgs - 1, "a workgroup number"},
    {WgTraceRow::no_task, wg_trace_most_bytes, "a task number, or -1 in a wait"},
    {0, wg_trace_most_cus - 1, "a CU number"},
    {0, wg_trace_most_ranks - 1, "a rank number"},
    ns,
    ns,
    ns,
    amount,
    amount,
    amount,
    amount,
    {0, 0, {}},
    {WgTraceRow::no_flag, wg_trace_most_flags - 1, "a flag number, or -1"},
    amount,
}};

// This function runs only for errors. It is not inlined, so that it does not slow down parsing.
[[gnu::noinline]] void number_error(std::string_view field, std::size_t column, bool integer, std::int64_t line,
                                    std::size_t col, Complaints& report) {
  const Range& range = ranges[column];
  const std::string_view name = name_of(static_cast<WgTraceColumn>(column));
  if (!integer) {
    report.error(line, col, fmt::format("{} is {}, not an integer", name, in_quotes(field)),
                 fmt::format("write {}", range.what));
  } else if (field.starts_with('-')) {
    report.error(line, col, fmt::format("{} is {}, below {}", name, in_quotes(field), range.least),
                 fmt::format("write {}", range.what));
  } else {
    report.error(line, col, fmt::format("{} is {}, too large", name, in_quotes(field)),
                 fmt::format("write {}, at most {}", range.what, range.most));
  }
}

bool parse_kind(std::string_view field, int version, std::int64_t line, WgTraceRow::Kind& kind, Complaints& report) {
  std::vector<std::string> known;
  for (const WgTraceRow::Kind one : wg_trace_kinds_of(version)) {
    if (field == name_of(one)) {
      kind = one;
      return true;
    }
  }
  for (const WgTraceRow::Kind one : wg_trace_kinds_of(version)) known.emplace_back(name_of(one));
  report.error(line, 1, fmt::format("unknown kind {}", in_quotes(field)), config::suggestion(field, known, "kinds"));
  return false;
}

bool parse_unit(std::string_view field, std::int64_t line, std::size_t col, WgTraceRow::Unit& unit,
                Complaints& report) {
  std::vector<std::string> known;
  for (std::size_t i = 0; i < wg_trace_units; ++i) {
    unit = static_cast<WgTraceRow::Unit>(i);
    if (field == name_of(unit)) return true;
    known.emplace_back(name_of(unit));
  }
  report.error(line, col, fmt::format("unknown unit {}", in_quotes(field)), config::suggestion(field, known, "units"));
  return false;
}

[[gnu::noinline]] void count_error(std::string_view text, int version, std::size_t fields, std::int64_t line,
                                   Complaints& report) {
  if (text.empty()) {
    report.error(line, 1, "the line is empty", "remove it");
  } else if (text.starts_with('#')) {
    report.error(line, 1, "a metadata line is between the rows", "move it above the row that names the columns");
  } else {
    report.error(line, text.size() + 1, fmt::format("the row has {} fields", fields),
                 fmt::format("it needs {}: {}", wg_trace_columns_of(version).size(), wg_trace_header_row(version)));
  }
}

}  // namespace

bool parse_row(std::string_view text, int version, std::int64_t line, WgTraceRow& row, WgTraceFieldColumns& columns,
               Complaints& report) {
  const std::span<const WgTraceColumn> expected = wg_trace_columns_of(version);
  std::array<std::string_view, wg_trace_columns> fields;
  std::size_t count = 0;
  for (const char *at = text.data(), *const end = at + text.size();; ++at) {
    const auto* comma = static_cast<const char*>(std::memchr(at, ',', static_cast<std::size_t>(end - at)));
    const char* stop = comma ? comma : end;
    if (count < expected.size()) {
      const auto column = static_cast<std::size_t>(expected[count]);
      fields[column] = std::string_view(at, static_cast<std::size_t>(stop - at));
      columns.first[column] = static_cast<std::size_t>(at - text.data()) + 1;
    }
    ++count;
    if (!comma) break;
    at = comma;
  }
  if (count != expected.size()) {
    count_error(text, version, count, line, report);
    return false;
  }
  row = {};
  bool right = parse_kind(fields[0], version, line, row.kind, report);
  std::array<std::int64_t, wg_trace_columns> value{};
  for (const WgTraceColumn column : expected.subspan(1)) {
    const auto i = static_cast<std::size_t>(column);
    if (column == WgTraceColumn::unit) {
      right = parse_unit(fields[i], line, columns.first[i], row.unit, report) && right;
      continue;
    }
    const formats::Digits digits = formats::parse_number(fields[i], value[i], ranges[i].least, ranges[i].most);
    if (digits == formats::Digits::good) continue;
    number_error(fields[i], i, digits == formats::Digits::out_of_range, line, columns.first[i], report);
    right = false;
  }
  const auto of = [&value](WgTraceColumn column) { return value[static_cast<std::size_t>(column)]; };
  row.rank = static_cast<Rank>(of(WgTraceColumn::rank));
  row.wg = static_cast<std::uint32_t>(of(WgTraceColumn::wg));
  row.task = of(WgTraceColumn::task);
  row.cu = static_cast<std::uint32_t>(of(WgTraceColumn::cu));
  row.peer = static_cast<Rank>(of(WgTraceColumn::peer));
  row.start_ns = of(WgTraceColumn::start_ns);
  row.compute_end_ns = of(WgTraceColumn::compute_end_ns);
  row.end_ns = of(WgTraceColumn::end_ns);
  row.read_bytes = of(WgTraceColumn::read_bytes);
  row.flop = of(WgTraceColumn::flop);
  row.store_bytes = of(WgTraceColumn::store_bytes);
  if (version == 1) return right;
  row.bytes = of(WgTraceColumn::bytes);
  row.flag = of(WgTraceColumn::flag);
  row.count = of(WgTraceColumn::count);
  return right;
}

namespace {

// Reports an error with the text `what()` if a row is not as expected. The text comes from a function, so that it is
// formatted only for errors, because the checks run for every row.
struct Expect {
  std::int64_t line;
  const WgTraceFieldColumns& columns;
  Complaints& report;
  bool right = true;

  template <class What>
  void operator()(bool fulfilled, WgTraceColumn column, const What& what, std::string_view remedy) {
    if (fulfilled) return;
    report.error(line, columns[column], what(), std::string(remedy));
    right = false;
  }
};

void check_first_version(const WgTraceRow& row, Expect& expect) {
  using Column = WgTraceColumn;
  if (expect.right) {
    expect(
        row.compute_end_ns >= row.start_ns && row.compute_end_ns <= row.end_ns, Column::compute_end_ns,
        [&] {
          return fmt::format("compute_end_ns is {}, outside {} to {}", row.compute_end_ns, row.start_ns, row.end_ns);
        },
        "it lies between start_ns and end_ns");
  }
  if (row.kind == WgTraceRow::Kind::task) {
    expect(
        row.task != WgTraceRow::no_task, Column::task, [] { return "the task has no number"; },
        "tasks of a rank are numbered from 0");
    return;
  }
  expect(
      row.task == WgTraceRow::no_task, Column::task, [&] { return fmt::format("a wait has the task {}", row.task); },
      "a wait belongs to no task; write -1");
  expect(
      row.compute_end_ns == row.end_ns, Column::compute_end_ns,
      [&] { return fmt::format("a wait has compute_end_ns {} and end_ns {}", row.compute_end_ns, row.end_ns); },
      "a wait computes and stores nothing; write the same time in both columns");
  const auto moves_nothing = [&](std::int64_t value, Column column) {
    expect(
        value == 0, column, [&] { return fmt::format("a wait has {} {}", name_of(column), value); },
        "a wait moves and computes nothing; write 0");
  };
  moves_nothing(row.read_bytes, Column::read_bytes);
  moves_nothing(row.flop, Column::flop);
  moves_nothing(row.store_bytes, Column::store_bytes);
}

void check_second_version(const WgTraceRow& row, Expect& expect) {
  using Column = WgTraceColumn;
  using Kind = WgTraceRow::Kind;
  const auto none = [&](bool is, Column column, std::string_view remedy) {
    expect(
        is, column, [&] { return fmt::format("a {} has a value of '{}'", name_of(row.kind), name_of(column)); },
        remedy);
  };
  const bool moves = row.kind == Kind::work || row.kind == Kind::store || row.kind == Kind::put;
  const bool flags = row.kind == Kind::signal || row.kind == Kind::put || row.kind == Kind::wait;
  if (!moves) none(row.bytes == 0, Column::bytes, "it moves nothing; write 0");
  if (row.kind != Kind::work) {
    none(row.flop == 0, Column::flop, "it computes nothing; write 0");
    none(row.unit == WgTraceRow::Unit::none, Column::unit, "it computes nothing; write -");
  } else {
    expect((row.flop > 0) == (row.unit != WgTraceRow::Unit::none), Column::unit,
           [&] { return fmt::format("the row has {} FLOP and the unit {}", row.flop, name_of(row.unit)); },
           "a row with arithmetic names a unit (vector_fp32, matrix_fp16, matrix_bf16); a row without any has -");
  }
  if (row.kind == Kind::store || row.kind == Kind::put) {
    expect(
        row.bytes > 0, Column::bytes, [&] { return fmt::format("a {} has no bytes", name_of(row.kind)); },
        "leave the row out");
  }
  if (!flags) {
    none(row.flag == WgTraceRow::no_flag, Column::flag, "it raises no flag and waits for none; write -1");
  } else {
    expect(
        row.flag >= 0, Column::flag, [&] { return fmt::format("a {} has no flag", name_of(row.kind)); },
        "flags of a rank are numbered from 0");
  }
  if (row.kind != Kind::wait) none(row.count == 0, Column::count, "only waits have a count; write 0");
}

}  // namespace

bool check_row(const WgTraceRow& row, const WgTraceHeader& header, std::int64_t line,
               const WgTraceFieldColumns& columns, Complaints& report) {
  using Column = WgTraceColumn;
  Expect expect{line, columns, report};
  const auto numbered = [&](std::uint32_t value, std::uint32_t count, Column column, std::string_view key) {
    expect(
        value < count, column,
        [&] { return fmt::format("{} is {}, but '{}' is {}", name_of(column), value, key, count); },
        "numbers begin at 0");
  };
  numbered(row.rank, header.ranks, Column::rank, "ranks");
  numbered(row.peer, header.ranks, Column::peer, "ranks");
  numbered(row.wg, header.wgs_per_rank, Column::wg, "wgs_per_rank");
  expect(
      row.end_ns >= row.start_ns, Column::end_ns,
      [&] { return fmt::format("end_ns is {}, before start_ns {}", row.end_ns, row.start_ns); },
      "a row ends when it starts, or later");
  header.version == 1 ? check_first_version(row, expect) : check_second_version(row, expect);
  return expect.right;
}

}  // namespace moire::program
