// Limits on the errors of a group: `limits: {case: 15 %, mean: 6 %}`.
#pragma once

#include "app/evidence/validate/result.hpp"
#include "sim/config/config.hpp"

namespace moire::validate {

// The limits as written in the file, such as "15 %", or "4 points" for differences. read_limits() parses them.
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

// Returns the limits as numbers. Returns nothing and reports errors if a limit is invalid or not in `unit` ("%" or
// "points").
std::optional<Limits> read_limits(const LimitsSpec& spec, const std::string& unit, config::Diagnostics& diagnostics);

// Returns 15 for "15 %". Returns nothing and reports an error if the limit has another unit.
std::optional<double> read_limit(const config::Node& node, const std::string& unit, config::Diagnostics& diagnostics);

// Adds the limits to the group, each with the error that it limits. The errors are those in `summary` and `curves` of
// the group. Adds nothing if the group has no errors.
void apply(const Limits& limits, GroupResult& group);

}  // namespace moire::validate
