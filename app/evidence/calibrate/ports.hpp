// Determines the ports of SMs to the memory system from the bandwidth of each SM while all SMs saturate the memory.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "app/evidence/measurements/measurements.hpp"

namespace moire::calibrate {

struct Ports {
  std::vector<std::size_t> group_order;  // the collector's group numbers, ordered so that SMs of a port are neighbours
  std::vector<std::int64_t> ports;       // number of SMs of each port, in the order of the SMs
  double queue = 0;                      // most bytes that a full port's SMs requested while all SMs had equal rates
  std::vector<const measurements::MeasuredValue*> rows;
};

// Returns the ports. All ports get the same bandwidth of a saturated memory, so the fewer SMs share a port, the higher
// is the rate of each of them. Returns nothing if there are no `sm_share` rows, if all SMs get the same rate at the
// highest load, if at every load some SMs get a higher rate than others, or if the SMs cannot be divided into full
// ports of the sizes that the rates show. `sms` is the number of SMs of each group.
std::optional<Ports> find_ports(const measurements::Measurements& measurements, const std::vector<std::int64_t>& sms);

}  // namespace moire::calibrate
