// What measurements cannot say at the same time, or not of this GPU: refused before anything is fitted.
#pragma once

#include "app/evidence/calibrate/hardware_file.hpp"
#include "app/evidence/measurements/measurements.hpp"

namespace moire::calibrate {

// One error at the row at fault for each. `hardware` already holds the file's device properties.
void find_contradictions(const measurements::Measurements& measurements, const HardwareFile& hardware,
                         config::Diagnostics& diagnostics);

}  // namespace moire::calibrate
