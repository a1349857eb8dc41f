// How evenly stores use the links of a port. Consecutive stripes of a peer's addresses belong to groups of links in
// turn, so rows whose distance is a multiple of all stripes of one turn meet the same group again and again.
#pragma once

#include <cstdint>

#include "models/hardware/link/spec.hpp"

namespace moire::link {

// Returns the link time of a byte of rows that are stored `stride` bytes apart, relative to contiguous bytes: 1 +
// stripe_cost x (share of the bytes in the busiest group - 1 / stripe_ways). Each row has `run` bytes, and the first
// one begins `offset` bytes behind the beginning of a turn. Measured with the benchmark peer_stride.
double strided_cost(const PortSpec& port, std::int64_t offset, std::int64_t run, std::int64_t stride);

// Returns the mean of strided_cost() over all places where a run of columns may begin in a row-major matrix, in steps
// of `column` bytes.
double strided_cost_of_columns(const PortSpec& port, std::int64_t column, std::int64_t run, std::int64_t stride);

}  // namespace moire::link
