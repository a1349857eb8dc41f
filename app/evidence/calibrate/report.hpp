// Makes a document from the result of a calibration.
#pragma once

#include "app/evidence/calibrate/calibrate.hpp"
#include "app/evidence/calibrate/validation_fit.hpp"
#include "app/report/document.hpp"

namespace moire::calibrate {

report::Document document_of(const measurements::Measurements& measurements, const Found& found);
report::Document document_of(const ValidationFit& found);

}  // namespace moire::calibrate
