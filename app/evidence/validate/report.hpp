// The result of a validation as a document: cases, errors and limits for people and for programs, figures on a page.
#pragma once

#include <string>
#include <vector>

#include "app/evidence/validate/validation.hpp"
#include "app/report/document.hpp"

namespace moire::validate {

// `version` is Moire's.
report::Document document_of(const Validation& validation, const ValidationResult& result, const std::string& version);

// A line for each limit that is passed: "group 'fused': the error of case 'a' is 17.2 %, its limit 15 %".
std::vector<std::string> beyond_limits(const ValidationResult& result);

// What follows are the words of the document.
report::Number value_of(double value);                                 // digits that say something
report::Number error_of(double error, const std::string& unit);        // "-4.5 %", "+1.2 points"
report::Number size_of(double error, const std::string& unit);         // the same without a sign
std::string limit_text(const Limit& limit, const GroupResult& group);  // "mean 6 %: 4.1 %, held"
std::string outcome_text(const GroupResult& group);                    // "held", "beyond: mean"
bool has_one_metric(const GroupResult& group);      // all cases have the same metric, so that the title can name it
std::string group_title(const GroupResult& group);  // "fused, time_us in us"
std::string worst_text(const Curve& curve);         // its worst case, without the words that its name says already
std::string count_text(const GroupResult& group);   // "24 cases, 2 left out"

}  // namespace moire::validate
