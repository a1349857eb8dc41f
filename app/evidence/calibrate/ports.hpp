// The ports of SMs to the memory system, read off what each SM gets while all of them ask for more than there is.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "app/evidence/measurements/measurements.hpp"

namespace moire::calibrate {

struct Ports {
  std::vector<std::size_t> group_order;  // the collector's numbers of the groups, so that a port's SMs are neighbours
  std::vector<std::int64_t> ports;       // SMs behind each, in that order
  double queue = 0;                      // most bytes asked for behind a port at which no SM was ahead of others
  std::vector<const measurements::MeasuredValue*> rows;
};

// Ports share a saturated memory alike, so an SM's rate tells how many others share its port. Nothing where the file
// has no such rows, where all SMs get the same, or where the SMs do not make whole ports. `sms` of each group.
std::optional<Ports> find_ports(const measurements::Measurements& measurements, const std::vector<std::int64_t>& sms);

}  // namespace moire::calibrate
