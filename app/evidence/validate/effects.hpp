// The effect of a choice, such as a strategy: by how many percent a metric changes between two values of a column of
// the measured table. The measured change is compared with the simulated change.
//
//   effects:
//     - {name: strategies, of: c3, by: strategy, against: compute_first, same_within: 2 %, most_wrong: 10 %,
//        most_bad_choices: 20 %}
//
// Designers first ask whether one choice is better than another, and only then by how much. The simulation is right if
// its change has the same sign as the measured change, or if neither change is larger than `same_within`. Users who
// follow the simulation take the choice with the smallest simulated value. This choice is bad if its measured value is
// more than `good_within` above the best measured value.
#pragma once

#include "app/evidence/validate/group.hpp"

namespace moire::validate {

struct EffectSpec {
  std::string name;
  std::string of;
  std::string by;
  std::string against;
  config::Node same_within;
  config::Node good_within;
  config::Node most_wrong;
  config::Node most_bad_choices;
  static void describe(config::Describer<EffectSpec>& d);
};

// Default of `good_within`: a choice of the simulation is good if its measured value is at most this many percent above
// the best measured value. Simulated times of a computation or a collective that runs alone have errors of 2 to 5 %, so
// the simulation cannot distinguish choices whose times differ by less. The results in validation/DEVIATIONS.md use
// this value.
inline constexpr double usual_good_within = 5;

struct Effect {
  std::string name;
  std::size_t of = 0;  // index of the group
  std::string by, against;
  double same_within = 0;  // in percent
  std::optional<double> most_wrong;
  std::optional<double> most_bad_choices;
  double good_within = usual_good_within;  // in percent
};

// True if both changes have the same sign or are equal, or if neither is larger than `same_within` percent.
bool is_right(double measured_percent, double simulated_percent, double same_within);

// Returns for each case of `group` the measured and simulated change, relative to the case that has `against` in column
// `by` and the same values in the other columns. Adds the shares of wrong signs and of bad choices as metrics.
GroupResult effect(const Effect& spec, const GroupResult& group);

}  // namespace moire::validate
