// What measurements cannot say at the same time, or not of this GPU: refused before anything is fitted.
#pragma once

#include "sim/study/calibrate/hardware_file.hpp"
#include "sim/study/measurements.hpp"

namespace moire::study::calibrate {

// One error at the row at fault for each. `hardware` already holds the file's device properties.
void find_contradictions(const Measurements& measurements, const HardwareFile& hardware,
                         config::Diagnostics& diagnostics);

}  // namespace moire::study::calibrate
