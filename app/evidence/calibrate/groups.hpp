// Determines the groups of CUs from the map of SMs, and checks them against measured placements.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "app/evidence/calibrate/hardware_file.hpp"
#include "app/evidence/calibrate/ports.hpp"
#include "app/evidence/measurements/measurements.hpp"

namespace moire::calibrate {

struct Groups {
  std::vector<std::pair<int, int>> groups;               // {CUs, filled first}, in hardware order
  std::vector<const measurements::MeasuredValue*> rows;  // the rows that contain the map
  std::size_t placements = 0;                            // number of counts of placed workgroups and clusters
  std::size_t exact = 0;                                 // how many of these the groups predict exactly
  std::optional<Ports> ports;                            // if known, the groups are in the order of the ports
};

// Empty if the file has no `gpc` rows. An empty GPU fills some CUs before all others; they are a beginning of the order
// in which blockers were placed. Chooses the beginning that predicts most placements exactly, with the fewest groups,
// and takes all CUs of these groups that precede those of others.
std::optional<Groups> find_groups(const measurements::Measurements& measurements, const HardwareFile& hardware,
                                  link::Wiring wiring, const std::vector<microbench::Benchmark>& known);

}  // namespace moire::calibrate
