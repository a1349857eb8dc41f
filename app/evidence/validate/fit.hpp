// What `moire calibrate` fits of a library's profile, and to which groups of a validation file.
//
//   fit:
//     - {name: ll, groups: [ll], keys: {channels.ll.step_overhead: 0.4 us, channels.ll.batch_pause: 0.2 us}}
//
// The values say where the search begins, so that it ends at the same values whatever the profile has. `moire validate`
// does not look at them.
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

// A number of the profile, in base units.
struct FitKey {
  std::string path;  // "channels.ll.step_overhead"
  config::Dimension dimension = config::Dimension::ratio;
  double start = 0;
  double low = 0;  // it stays within
  double high = 0;
  config::Place place;
};

struct Fit {
  std::string name;
  std::vector<std::size_t> groups;  // numbers
  std::vector<FitKey> keys;
  config::Place place;
};

// A value is searched for between the 64th part of where it begins and 64 times as much, within the spec's limits.
inline constexpr double fit_range = 64;

// One entry of the list; `group_names` are those of the file. What is wrong is in `diagnostics`.
Fit read_fit(const FitSpec& spec, const config::Node& node, const std::vector<std::string>& group_names,
             config::Diagnostics& diagnostics);

}  // namespace moire::validate
