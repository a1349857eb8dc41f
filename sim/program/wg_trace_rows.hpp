// Parses one row of a WG trace, and checks the row without regard to other rows.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "sim/formats/complaints.hpp"
#include "sim/program/wg_trace.hpp"

namespace moire::program {

using formats::Complaints;

// The column of the line (counted in bytes from 1) at which each field of a row starts.
struct WgTraceFieldColumns {
  std::array<std::size_t, wg_trace_columns> first{};
  std::size_t operator[](WgTraceColumn column) const { return first[static_cast<std::size_t>(column)]; }
};

// Parses one line. Returns false if it reported an error.
bool parse_row(std::string_view text, int version, std::int64_t line, WgTraceRow& row, WgTraceFieldColumns& columns,
               Complaints& report);

// Checks a row by itself and against the metadata. Returns false if it reported an error.
bool check_row(const WgTraceRow& row, const WgTraceHeader& header, std::int64_t line,
               const WgTraceFieldColumns& columns, Complaints& report);

}  // namespace moire::program
