// Limits on the errors of a group: `limits: {case: 15 %, mean: 6 %}`.
#pragma once

#include "app/evidence/validate/result.hpp"
#include "sim/config/config.hpp"

namespace moire::validate {

// Values such as "15 %", or "4 points" for differences; read_limits() parses them.
struct LimitsSpec {
  config::Node each;
  config::Node mean;
  config::Node median;
  config::Node percentile_95;
  config::Node curve;
  static void describe(config::Describer<LimitsSpec>& d);
};

struct Limits {
  std::optional<double> each, mean, median, percentile_95, curve;
};

// Reads limits in `unit`, "%" or "points". Returns nothing and reports errors if a limit is invalid.
std::optional<Limits> read_limits(const LimitsSpec& spec, const std::string& unit, config::Diagnostics& diagnostics);

// Returns 15 for "15 %". Returns nothing and reports an error if the limit has another unit.
std::optional<double> read_limit(const config::Node& node, const std::string& unit, config::Diagnostics& diagnostics);

// Adds the limits to the group, each with the value from the group's summary that it applies to.
void apply(const Limits& limits, GroupResult& group);

}  // namespace moire::validate
