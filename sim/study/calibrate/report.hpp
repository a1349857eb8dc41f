// What a calibration found, for people and for programs. The same calibration gives the same bytes.
#pragma once

#include <string>

#include "sim/study/calibrate/calibrate.hpp"
#include "sim/study/calibrate/validation_fit.hpp"

namespace moire::study::calibrate {

std::string report_table(const Measurements& measurements, const Found& found);
std::string report_json(const Measurements& measurements, const Found& found);
std::string report_csv(const Found& found);

std::string report_table(const ValidationFit& found);
std::string report_json(const ValidationFit& found);
std::string report_csv(const ValidationFit& found);

}  // namespace moire::study::calibrate
