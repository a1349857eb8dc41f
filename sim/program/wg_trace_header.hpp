// The metadata of a WG trace: from the magic line to the row that names the columns.
#pragma once

#include <cstdint>

#include "sim/program/wg_trace.hpp"
#include "sim/program/wg_trace_lines.hpp"
#include "sim/program/wg_trace_report.hpp"

namespace moire::program {

// Where the values stand that rows are compared with.
struct WgTracePlaces {
  struct At {
    std::int64_t line = 0;
    std::size_t col = 0;
  };
  At ranks;
  At recorded_end_ns;
};

// Reads up to and including the header row; false when an error was reported.
bool read_header(WgTraceLines& lines, WgTraceReport& report, WgTraceHeader& header, WgTracePlaces& places);

// The next line that is whole; false at the end and, reported, when there is none to read.
bool next_line(WgTraceLines& lines, WgTraceReport& report, std::string_view& line);

// A line without surrounding blanks.
std::string_view trimmed(std::string_view text);

// The required metadata as key and value, in the order they are written.
std::vector<std::pair<std::string, std::string>> required_metadata(const WgTraceHeader& header);

}  // namespace moire::program
