// Parses one row of a WG trace and checks it on its own.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "sim/formats/complaints.hpp"
#include "sim/program/wg_trace.hpp"

namespace moire::program {

using formats::Complaints;

// Columns in which the fields of a row start, counted from 1.
struct WgTraceFieldColumns {
  std::array<std::size_t, wg_trace_columns> first{};
  std::size_t operator[](WgTraceColumn column) const { return first[static_cast<std::size_t>(column)]; }
};

// Returns false if it reported an error.
bool parse_row(std::string_view text, int version, std::int64_t line, WgTraceRow& row, WgTraceFieldColumns& columns,
               Complaints& report);

// Checks a row on its own and against the metadata; returns false if it reported an error.
bool check_row(const WgTraceRow& row, const WgTraceHeader& header, std::int64_t line,
               const WgTraceFieldColumns& columns, Complaints& report);

}  // namespace moire::program
