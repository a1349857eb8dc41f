// The groups of CUs, read off the map of SMs and checked against what was placed.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "sim/study/calibrate/hardware_file.hpp"
#include "sim/study/calibrate/ports.hpp"
#include "sim/study/measurements.hpp"

namespace moire::study::calibrate {

struct Groups {
  std::vector<std::pair<int, int>> groups;  // {CUs, filled first}, in hardware order
  std::vector<const MeasuredValue*> rows;   // the map they were read from
  std::size_t placements = 0;               // counts of placed workgroups and clusters they were tried on
  std::size_t exact = 0;                    // of these, given exactly
  std::optional<Ports> ports;               // the groups then stand in their order
};

// Nothing where the file has no `gpc` rows. Which CUs an empty GPU fills first is a beginning of the order in which
// blockers were placed: the one that gives most of the measured placements exactly and has the fewest groups, with all
// the CUs of these groups that come before those of others.
std::optional<Groups> find_groups(const Measurements& measurements, const HardwareFile& hardware,
                                  models::link::Wiring wiring, const std::vector<Benchmark>& known);

}  // namespace moire::study::calibrate
