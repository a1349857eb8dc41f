// Determines the groups of CUs (GPCs) from the measured map of SMs, and checks them against measured placements of
// workgroups.
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
  std::vector<const measurements::MeasuredValue*> rows;  // the `gpc` rows, which state the SMs of each group
  std::size_t placements = 0;                            // number of measured counts of placed workgroups and clusters
  std::size_t exact = 0;                                 // number of these counts that the groups predict exactly
  std::optional<Ports> ports;                            // if known, the groups are in the order of the ports
};

// Returns the groups, or nothing if the file has no `gpc` rows. An idle GPU fills some CUs before all others. These CUs
// are the first in the order in which the collector's blockers (workgroups that occupy a whole SM) were placed. The
// function determines how many CUs of this order fill first. It chooses the number that predicts most placements
// exactly. If several numbers are equally good, it prefers those with the fewest groups, and of these the largest.
std::optional<Groups> find_groups(const measurements::Measurements& measurements, const HardwareFile& hardware,
                                  link::Wiring wiring, const std::vector<microbench::Benchmark>& known);

}  // namespace moire::calibrate
