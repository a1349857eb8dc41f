// Describes what `moire calibrate` fits in a library's profile, and to which groups of a validation file.
//
//   fit:
//     - {name: ll, groups: [ll], keys: {channels.ll.step_overhead: 0.4 us, channels.ll.batch_pause: 0.2 us}}
//
// The search starts at the values in `keys`, so that its result does not depend on the profile's values. `moire
// validate` ignores `fit`.
#pragma once

#include "app/evidence/validate/group.hpp"
#include "models/workload/libraries/path.hpp"

namespace moire::validate {

struct FitSpec {
  std::string name;
  std::vector<std::string> groups;
  std::vector<std::pair<std::string, config::Node>> keys;
  static void describe(config::Describer<FitSpec>& d);
};

// A number of the profile that is fitted, in the base units of its dimension (a time in ps).
struct FitKey {
  std::string path;  // "channels.ll.step_overhead"
  config::Dimension dimension = config::Dimension::ratio;
  double start = 0;
  double low = 0;  // bounds of the search
  double high = 0;
  config::Place place;
};

struct Fit {
  std::string name;
  std::vector<std::size_t> groups;  // numbers of the groups
  std::vector<FitKey> keys;
  config::Place place;
};

// The search covers 1/64 of the start to 64 times the start, within the range that the key's spec allows.
inline constexpr double fit_range = 64;

// Reads one entry of `fit`. `group_names` are the names of all groups of the file. Reports errors in `diagnostics`.
Fit read_fit(const FitSpec& spec, const config::Node& node, const std::vector<std::string>& group_names,
             config::Diagnostics& diagnostics);

}  // namespace moire::validate
