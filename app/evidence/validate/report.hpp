// Makes a document from the result of a validation. It has cases, errors and limits; the HTML page also has figures.
#pragma once

#include <string>
#include <vector>

#include "app/evidence/validate/validation.hpp"
#include "app/report/document.hpp"

namespace moire::validate {

// Returns the report of a validation. `version` is the version of Moire, which the HTML page states.
report::Document document_of(const Validation& validation, const ValidationResult& result, const std::string& version);

// Returns a line for each exceeded limit, such as "beyond its limit: group 'fused': the error of case 'a' is 17.2 %,
// above the limit of 15 %".
std::vector<std::string> beyond_limits(const ValidationResult& result);

// The functions below format parts of the document.
report::Number value_of(double value);                                 // with fewer decimals for larger values
report::Number error_of(double error, const std::string& unit);        // with its sign: "-4.5 %", "+1.2 points"
report::Number size_of(double error, const std::string& unit);         // the absolute value: "4.5 %"
std::string limit_text(const Limit& limit, const GroupResult& group);  // "mean 6 %: 4.1 %, held"
std::string outcome_text(const GroupResult& group);                    // "held", "beyond: mean"
bool has_one_metric(const GroupResult& group);      // true if all cases have the same metric and unit
std::string group_title(const GroupResult& group);  // "fused: time_us in us"
std::string worst_text(const Curve& curve);         // name of the curve's worst case, without the benchmark
std::string count_text(const GroupResult& group);   // "24 cases, 2 left out without a measured value"

}  // namespace moire::validate
