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

constexpr Range ns{0, wg_trace_latest_ns, "whole nanoseconds since the recording began"};
constexpr Range amount{0, wg_trace_most_bytes, "a whole amount"};
// What each column can hold; beside the metadata, check_row() says more. The kind is no number.
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
}};

// Cold: the reader's speed does not depend on it.
[[gnu::noinline]] void number_error(std::string_view field, std::size_t column, bool integer, std::int64_t line,
                                    std::size_t col, Complaints& report) {
  const Range& range = ranges[column];
  const std::string_view name = wg_trace_column_names[column];
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

bool parse_kind(std::string_view field, std::int64_t line, WgTraceRow::Kind& kind, Complaints& report) {
  if (field == "task") {
    kind = WgTraceRow::Kind::task;
  } else if (field == "wait") {
    kind = WgTraceRow::Kind::wait;
  } else {
    report.error(line, 1, fmt::format("unknown kind {}", in_quotes(field)),
                 config::suggestion(field, {"task", "wait"}, "kinds"));
    return false;
  }
  return true;
}

[[gnu::noinline]] void count_error(std::string_view text, std::size_t fields, std::int64_t line, Complaints& report) {
  if (text.empty()) {
    report.error(line, 1, "the line is empty", "remove it");
  } else if (text.starts_with('#')) {
    report.error(line, 1, "metadata between the rows", "move it above the row that names the columns");
  } else {
    report.error(line, text.size() + 1, fmt::format("{} fields", fields),
                 fmt::format("a row has {}: {}", wg_trace_columns, wg_trace_header_row()));
  }
}

}  // namespace

bool parse_row(std::string_view text, std::int64_t line, WgTraceRow& row, WgTraceFieldColumns& columns,
               Complaints& report) {
  std::array<std::string_view, wg_trace_columns> fields;
  std::size_t count = 0;
  for (const char *at = text.data(), *const end = at + text.size();; ++at) {
    const auto* comma = static_cast<const char*>(std::memchr(at, ',', static_cast<std::size_t>(end - at)));
    const char* stop = comma ? comma : end;
    if (count < wg_trace_columns) {
      fields[count] = std::string_view(at, static_cast<std::size_t>(stop - at));
      columns.first[count] = static_cast<std::size_t>(at - text.data()) + 1;
    }
    ++count;
    if (!comma) break;
    at = comma;
  }
  if (count != wg_trace_columns) {
    count_error(text, count, line, report);
    return false;
  }
  bool right = parse_kind(fields[0], line, row.kind, report);
  std::array<std::int64_t, wg_trace_columns> value{};
  for (std::size_t i = 1; i < wg_trace_columns; ++i) {
    const std::string_view field = fields[i];
    const formats::Digits digits = formats::parse_number(field, value[i], ranges[i].least, ranges[i].most);
    if (digits == formats::Digits::good) continue;
    number_error(field, i, digits == formats::Digits::out_of_range, line, columns.first[i], report);
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
  return right;
}

bool check_row(const WgTraceRow& row, const WgTraceHeader& header, std::int64_t line,
               const WgTraceFieldColumns& columns, Complaints& report) {
  using Column = WgTraceColumn;
  bool right = true;
  // Texts are made only for what is wrong: this runs for every row.
  const auto expect = [&](bool fulfilled, Column column, auto what, std::string_view remedy) {
    if (fulfilled) return;
    report.error(line, columns[column], what(), std::string(remedy));
    right = false;
  };
  const auto numbered = [&](std::uint32_t value, std::uint32_t count, Column column, std::string_view key) {
    expect(
        value < count, column,
        [&] {
          return fmt::format("{} is {}, but '{}' is {}", wg_trace_column_names[static_cast<std::size_t>(column)], value,
                             key, count);
        },
        "numbers start at 0");
  };
  numbered(row.rank, header.ranks, Column::rank, "ranks");
  numbered(row.peer, header.ranks, Column::peer, "ranks");
  numbered(row.wg, header.wgs_per_rank, Column::wg, "wgs_per_rank");
  expect(
      row.end_ns >= row.start_ns, Column::end_ns,
      [&] { return fmt::format("end_ns is {}, before start_ns {}", row.end_ns, row.start_ns); },
      "a row ends when it starts, or later");
  if (right) {
    expect(
        row.compute_end_ns >= row.start_ns && row.compute_end_ns <= row.end_ns, Column::compute_end_ns,
        [&] {
          return fmt::format("compute_end_ns is {}, outside {} to {}", row.compute_end_ns, row.start_ns, row.end_ns);
        },
        "it lies between start_ns and end_ns");
  }
  if (row.kind == WgTraceRow::Kind::task) {
    expect(
        row.task != WgTraceRow::no_task, Column::task, [] { return "a task without a number"; },
        "tasks of a rank are numbered from 0");
    return right;
  }
  expect(
      row.task == WgTraceRow::no_task, Column::task, [&] { return fmt::format("a wait with task {}", row.task); },
      "a wait belongs to no task; write -1");
  expect(
      row.compute_end_ns == row.end_ns, Column::compute_end_ns,
      [&] { return fmt::format("a wait with compute_end_ns {} and end_ns {}", row.compute_end_ns, row.end_ns); },
      "a wait stores nothing; write the same date twice");
  const auto moves_nothing = [&](std::int64_t value, Column column) {
    expect(
        value == 0, column,
        [&] {
          return fmt::format("a wait with {} {}", wg_trace_column_names[static_cast<std::size_t>(column)], value);
        },
        "a wait moves and computes nothing; write 0");
  };
  moves_nothing(row.read_bytes, Column::read_bytes);
  moves_nothing(row.flop, Column::flop);
  moves_nothing(row.store_bytes, Column::store_bytes);
  return right;
}

}  // namespace moire::program
