// The metadata of a WG trace: everything from the magic line to the row of column names.
#pragma once

#include <cstdint>

#include "sim/formats/complaints.hpp"
#include "sim/formats/lines.hpp"
#include "sim/program/wg_trace.hpp"

namespace moire::program {

using formats::Complaints;

// Positions of the metadata values that rows are checked against.
struct WgTracePlaces {
  struct At {
    std::int64_t line = 0;
    std::size_t col = 0;
  };
  At ranks;
  At recorded_end_ns;
};

// Reads up to and including the row of column names; returns false if it reported an error.
bool read_header(formats::Lines& lines, Complaints& report, WgTraceHeader& header, WgTracePlaces& places);

// Reads the next complete line; returns false at the end of the file, or if it reported an error.
bool next_line(formats::Lines& lines, Complaints& report, std::string_view& line);

// Returns the required metadata as pairs of key and value, in file order.
std::vector<std::pair<std::string, std::string>> required_metadata(const WgTraceHeader& header);

}  // namespace moire::program
