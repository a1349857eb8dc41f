// The result of a validation as text: a table and a page for people, JSON and CSV for programs. Same result, same
// bytes.
#pragma once

#include <string>

#include "app/evidence/validate/validation.hpp"
#include "sim/config/suggest.hpp"

namespace moire::validate {

std::string report_table(const Validation& validation, const ValidationResult& result);
std::string report_json(const Validation& validation, const ValidationResult& result);
std::string report_csv(const ValidationResult& result);

// One self-contained page with figures. `version` is Moire's.
std::string report_html(const Validation& validation, const ValidationResult& result, const std::string& version);

// A line for each limit that is passed: "group 'fused': the error of case 'a' is 17.2 %, its limit 15 %".
std::string beyond_limits(const ValidationResult& result);

// What follows are the words that the reports share.
std::string value_text(double value);                                  // digits that say something
std::string error_text(double error, const std::string& unit);         // "-4.5 %", "+1.2 points"
std::string size_text(double error, const std::string& unit);          // the same without a sign
std::string limit_text(const Limit& limit, const GroupResult& group);  // "mean 6 %: 4.1 %, held"
bool has_one_metric(const GroupResult& group);      // all cases have the same metric, so that the title can name it
std::string group_title(const GroupResult& group);  // "fused, time_us in us"
std::string worst_text(const Curve& curve);         // its worst case, without the words that its name says already
std::string count_text(const GroupResult& group);   // "24 cases, 2 left out"

}  // namespace moire::validate
