// The result of a validation as a document: cases, errors and limits for people and programs, figures for pages.
#pragma once

#include <string>
#include <vector>

#include "app/evidence/validate/validation.hpp"
#include "app/report/document.hpp"

namespace moire::validate {

// `version` is that of Moire.
report::Document document_of(const Validation& validation, const ValidationResult& result, const std::string& version);

// A line for each exceeded limit: "group 'fused': the error of case 'a' is 17.2 %, its limit 15 %".
std::vector<std::string> beyond_limits(const ValidationResult& result);

// The functions below format parts of the document.
report::Number value_of(double value);                                 // with meaningful digits
report::Number error_of(double error, const std::string& unit);        // "-4.5 %", "+1.2 points"
report::Number size_of(double error, const std::string& unit);         // the same, without a sign
std::string limit_text(const Limit& limit, const GroupResult& group);  // "mean 6 %: 4.1 %, held"
std::string outcome_text(const GroupResult& group);                    // "held", "beyond: mean"
bool has_one_metric(const GroupResult& group);      // all cases have the same metric, so the title can name it
std::string group_title(const GroupResult& group);  // "fused, time_us in us"
std::string worst_text(const Curve& curve);         // its worst case, without words of the curve's name
std::string count_text(const GroupResult& group);   // "24 cases, 2 left out"

}  // namespace moire::validate
