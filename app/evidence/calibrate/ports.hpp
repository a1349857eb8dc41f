// Determines the ports of SMs to the memory system from the bandwidth of each SM while all SMs saturate the memory.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "app/evidence/measurements/measurements.hpp"

namespace moire::calibrate {

struct Ports {
  std::vector<std::size_t> group_order;  // the collector's group numbers; SMs of a port are neighbours
  std::vector<std::int64_t> ports;       // SMs of each port, in that order
  double queue = 0;                      // most bytes requested behind a port without any SM getting ahead
  std::vector<const measurements::MeasuredValue*> rows;
};

// Ports get equal shares of a saturated memory, so an SM's rate shows how many others use its port. Empty if the file
// has no such rows, if all SMs get the same, or if the SMs do not add up to whole ports. `sms`: SMs of each group.
std::optional<Ports> find_ports(const measurements::Measurements& measurements, const std::vector<std::int64_t>& sms);

}  // namespace moire::calibrate
