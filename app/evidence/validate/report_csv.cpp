// One line a case.
#include <fmt/format.h>

#include <cmath>

#include "app/evidence/validate/report.hpp"
#include "sim/formats/csv.hpp"

namespace moire::validate {

namespace {

std::string number(const std::optional<double>& value) { return value ? fmt::format("{}", *value) : ""; }
std::string rounded(const std::optional<double>& value) {
  return value ? fmt::format("{}", std::round(*value * 1e6) / 1e6 + 0.0) : "";
}

}  // namespace

std::string report_csv(const ValidationResult& result) {
  std::string out = "group,curve,case,metric,unit,measured,low,high,expected,simulated,error,error_unit\n";
  for (const GroupResult& group : result.groups) {
    for (const Case& one : group.cases) {
      const auto value = one.in_points ? rounded : number;
      const std::vector<std::string> fields = {formats::csv_field(group.name),
                                               formats::csv_field(one.curve),
                                               formats::csv_field(one.name),
                                               formats::csv_field(one.metric),
                                               one.unit,
                                               value(one.measured),
                                               value(one.low),
                                               value(one.high),
                                               value(one.expected),
                                               value(one.simulated),
                                               rounded(one.error()),
                                               group.error_unit};
      out += config::join(fields, ",") + "\n";
    }
  }
  return out;
}

}  // namespace moire::validate
