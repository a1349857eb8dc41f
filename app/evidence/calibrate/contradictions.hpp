// Finds measurements that contradict each other or the GPU, before anything is fitted.
#pragma once

#include "app/evidence/calibrate/hardware_file.hpp"
#include "app/evidence/measurements/measurements.hpp"

namespace moire::calibrate {

// Reports one error for each contradiction, at one of the rows that cause it. `hardware` must already have the device
// properties that the measurements file states.
void find_contradictions(const measurements::Measurements& measurements, const HardwareFile& hardware,
                         config::Diagnostics& diagnostics);

}  // namespace moire::calibrate
