// What a calibration found, for people and for programs. The same calibration gives the same bytes.
#pragma once

#include <string>

#include "app/evidence/calibrate/calibrate.hpp"
#include "app/evidence/calibrate/validation_fit.hpp"

namespace moire::calibrate {

std::string report_table(const measurements::Measurements& measurements, const Found& found);
std::string report_json(const measurements::Measurements& measurements, const Found& found);
std::string report_csv(const Found& found);

std::string report_table(const ValidationFit& found);
std::string report_json(const ValidationFit& found);
std::string report_csv(const ValidationFit& found);

}  // namespace moire::calibrate
