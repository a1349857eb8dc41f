// The metadata of a WG trace: from the magic line to the row that names the columns.
#pragma once

#include <cstdint>

#include "sim/formats/complaints.hpp"
#include "sim/formats/lines.hpp"
#include "sim/program/wg_trace.hpp"

namespace moire::program {

using formats::Complaints;

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
bool read_header(formats::Lines& lines, Complaints& report, WgTraceHeader& header, WgTracePlaces& places);

// The next line that is whole; false at the end and, reported, when there is none to read.
bool next_line(formats::Lines& lines, Complaints& report, std::string_view& line);

// The required metadata as key and value, in the order they are written.
std::vector<std::pair<std::string, std::string>> required_metadata(const WgTraceHeader& header);

}  // namespace moire::program
