// One row of a WG trace from its text, and the checks that look at one row alone.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "sim/formats/complaints.hpp"
#include "sim/program/wg_trace.hpp"

namespace moire::program {

using formats::Complaints;

// Where the fields of a row start on their line, from 1.
struct WgTraceFieldColumns {
  std::array<std::size_t, wg_trace_columns> first{};
  std::size_t operator[](WgTraceColumn column) const { return first[static_cast<std::size_t>(column)]; }
};

// False when an error was reported.
bool parse_row(std::string_view text, int version, std::int64_t line, WgTraceRow& row, WgTraceFieldColumns& columns,
               Complaints& report);

// What a row must fulfil by itself and beside the metadata; false when an error was reported.
bool check_row(const WgTraceRow& row, const WgTraceHeader& header, std::int64_t line,
               const WgTraceFieldColumns& columns, Complaints& report);

}  // namespace moire::program
