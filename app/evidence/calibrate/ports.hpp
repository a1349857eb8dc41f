// Determines the ports of SMs to the memory system from the bandwidth of each SM while all SMs saturate the memory.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "app/evidence/measurements/measurements.hpp"

namespace moire::calibrate {

struct Ports {
  std::vector<std::size_t> group_order;  // the collector's group numbers, ordered so that SMs of a port are neighbours
  std::vector<std::int64_t> ports;       // number of SMs of each port, in this order
  double queue = 0;                      // most bytes that a port's SMs requested while no SM got a larger share
  std::vector<const measurements::MeasuredValue*> rows;
};

// Ports get equal shares of a saturated memory, so an SM's rate shows how many others use its port. Returns nothing if
// the file has no `sm_share` rows, if all SMs get the same rate, or if the SMs do not add up to whole ports. `sms` is
// the number of SMs of each group.
std::optional<Ports> find_ports(const measurements::Measurements& measurements, const std::vector<std::int64_t>& sms);

}  // namespace moire::calibrate
