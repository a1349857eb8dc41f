#include "sim/program/wg_trace.hpp"

#include <fmt/format.h>

#include <array>
#include <tuple>

namespace moire::program {

namespace {

using Column = WgTraceColumn;
using Kind = WgTraceRow::Kind;

constexpr std::array<std::string_view, wg_trace_columns> column_names = {
    "kind",   "rank",       "wg",   "task",        "cu",    "peer", "start_ns", "compute_end_ns",
    "end_ns", "read_bytes", "flop", "store_bytes", "bytes", "unit", "flag",     "count"};
constexpr std::array first_version = {Column::kind,   Column::rank,       Column::wg,       Column::task,
                                      Column::cu,     Column::peer,       Column::start_ns, Column::compute_end_ns,
                                      Column::end_ns, Column::read_bytes, Column::flop,     Column::store_bytes};
constexpr std::array second_version = {Column::kind, Column::rank,     Column::wg,     Column::task,  Column::cu,
                                       Column::peer, Column::start_ns, Column::end_ns, Column::bytes, Column::flop,
                                       Column::unit, Column::flag,     Column::count};

}  // namespace

bool in_order(const WgTraceRow& first, const WgTraceRow& second, int version) {
  if (version == 1) {
    return std::tie(first.rank, first.start_ns, first.wg, first.task) <=
           std::tie(second.rank, second.start_ns, second.wg, second.task);
  }
  return std::tie(first.rank, first.wg, first.start_ns) <= std::tie(second.rank, second.wg, second.start_ns);
}

std::string_view name_of(WgTraceColumn column) { return column_names[static_cast<std::size_t>(column)]; }

std::span<const WgTraceColumn> wg_trace_columns_of(int version) {
  return version == 1 ? std::span<const WgTraceColumn>(first_version) : std::span<const WgTraceColumn>(second_version);
}

std::string wg_trace_header_row(int version) {
  std::string row;
  for (const WgTraceColumn column : wg_trace_columns_of(version)) {
    if (!row.empty()) row += ',';
    row += name_of(column);
  }
  return row;
}

std::string_view name_of(WgTraceRow::Kind kind) {
  constexpr std::array<std::string_view, 7> names = {"task", "wait", "work", "store", "fence", "signal", "put"};
  return names[static_cast<std::size_t>(kind)];
}

std::string_view name_of(WgTraceRow::Unit unit) {
  constexpr std::array<std::string_view, wg_trace_units> names = {"-", "vector_fp32", "matrix_fp16", "matrix_bf16"};
  return names[static_cast<std::size_t>(unit)];
}

std::span<const WgTraceRow::Kind> wg_trace_kinds_of(int version) {
  static constexpr std::array first = {Kind::task, Kind::wait};
  static constexpr std::array second = {Kind::work, Kind::store, Kind::fence, Kind::signal, Kind::put, Kind::wait};
  return version == 1 ? std::span<const Kind>(first) : std::span<const Kind>(second);
}

}  // namespace moire::program
