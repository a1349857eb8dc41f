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
  std::vector<std::pair<int, int>> groups;               // {CUs, CUs that fill first}, in hardware order
  std::vector<const measurements::MeasuredValue*> rows;  // the `gpc` rows, which contain the map
  std::size_t placements = 0;                            // number of measured counts of placed workgroups and clusters
  std::size_t exact = 0;                                 // number of these counts that the groups predict exactly
  std::optional<Ports> ports;                            // if known, the groups are in the order of the ports
};

// Returns nothing if the file has no `gpc` rows. An idle GPU fills some CUs before all others. These CUs are the first
// in the order in which the collector's blockers (workgroups that occupy a whole SM) were placed. Chooses how many CUs
// of this order fill first: the number that predicts most placements exactly, with the fewest groups. Then adds all
// further CUs of these groups that precede CUs of other groups.
std::optional<Groups> find_groups(const measurements::Measurements& measurements, const HardwareFile& hardware,
                                  link::Wiring wiring, const std::vector<microbench::Benchmark>& known);

}  // namespace moire::calibrate
