// Describes what `moire calibrate` fits in a library's profile, and to which groups of a validation file.
//
//   fit:
//     - {name: ll, groups: [ll], keys: {channels.ll.step_overhead: 0.4 us, channels.ll.batch_pause: 0.2 us}}
//
// `keys` maps the path of each fitted value to the start of its search. The search does not start at the profile's
// values, so that its result does not depend on them. `moire validate` ignores `fit`.
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

// A number of the profile that is fitted. `start`, `low` and `high` are in base units (a time in ps, a size in bytes).
struct FitKey {
  std::string path;  // "channels.ll.step_overhead"
  config::Dimension dimension = config::Dimension::ratio;
  double start = 0;
  double low = 0;  // `low` and `high` are the bounds of the search
  double high = 0;
  config::Place place;
};

struct Fit {
  std::string name;
  std::vector<std::size_t> groups;  // indices of the groups in the file
  std::vector<FitKey> keys;
  config::Place place;
};

// The search covers values from 1/64 of the start to 64 times the start, as far as they are valid for the key.
inline constexpr double fit_range = 64;

// Returns one entry of `fit`. `group_names` are the names of all groups of the file. Reports errors in `diagnostics`.
Fit read_fit(const FitSpec& spec, const config::Node& node, const std::vector<std::string>& group_names,
             config::Diagnostics& diagnostics);

}  // namespace moire::validate
