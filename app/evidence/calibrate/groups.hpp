// The groups of CUs, read off the map of SMs and checked against what was placed.
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
  std::vector<const measurements::MeasuredValue*> rows;  // the map they were read from
  std::size_t placements = 0;                            // counts of placed workgroups and clusters they were tried on
  std::size_t exact = 0;                                 // of these, given exactly
  std::optional<Ports> ports;                            // the groups then stand in their order
};

// Nothing where the file has no `gpc` rows. Which CUs an empty GPU fills first is a beginning of the order in which
// blockers were placed: the one that gives most of the measured placements exactly and has the fewest groups, with all
// the CUs of these groups that come before those of others.
std::optional<Groups> find_groups(const measurements::Measurements& measurements, const HardwareFile& hardware,
                                  link::Wiring wiring, const std::vector<microbench::Benchmark>& known);

}  // namespace moire::calibrate
