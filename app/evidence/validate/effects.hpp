// The effect of a choice: how much a metric changes between two values of a column, measured and simulated.
//
//   effects:
//     - {name: strategies, of: c3, by: strategy, against: compute_first, same_within: 2 %, most_wrong: 10 %,
//        most_bad_choices: 20 %}
//
// Designers first ask whether a choice is better, and only then by how much. The simulation is right if its change has
// the sign of the measured change, or if both changes are at most `same_within`. Users who follow the simulation take
// the choice with the smallest simulated value, and should lose little time. The simulation's choice is bad if its
// measured value is more than `good_within` above the best measured value.
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

// Default of `good_within`, in percent above the best measured value. Simulated times of a computation or a collective
// that runs alone have errors of 2 to 5 %, so the simulation cannot distinguish choices that are closer. The results
// in validation/DEVIATIONS.md use this value.
inline constexpr double usual_good_within = 5;

struct Effect {
  std::string name;
  std::size_t of = 0;  // number of the group
  std::string by, against;
  double same_within = 0;  // in percent
  std::optional<double> most_wrong;
  std::optional<double> most_bad_choices;
  double good_within = usual_good_within;  // in percent
};

// True if the simulation predicts the sign of the change, or if both changes are at most `same_within` percent.
bool is_right(double measured_percent, double simulated_percent, double same_within);

// Compares cases of `group` that differ only in column `by` with the case that has the value `against` in this column.
GroupResult effect(const Effect& spec, const GroupResult& group);

}  // namespace moire::validate
