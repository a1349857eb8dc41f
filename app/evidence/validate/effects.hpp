// The effect of a choice: how much a metric changes between two values of a column, measured and simulated.
//
//   effects:
//     - {name: strategies, of: c3, by: strategy, against: compute_first, same_within: 2 %, most_wrong: 10 %,
//        most_bad_choices: 20 %}
//
// Designers first ask whether a choice is better, not how long something takes. An effect is right if the simulation
// has its sign, or if both changes are negligible (`same_within`). And users who follow the simulation should lose
// little: its choice is bad if the measured value of that choice is more than `good_within` above the best measured
// one.
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

// How much longer than the best measured value, in percent, the measured value of the simulation's choice may be. The
// goal for choosing strategies uses this value. Parts that run alone have errors of 2 to 5 % (README), so a simulation
// of such parts cannot distinguish choices that are closer.
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

bool is_right(double measured_percent, double simulated_percent, double same_within);

// Compares the cases of `group` that differ only in column `by` with the one that has `against` there.
GroupResult effect(const Effect& spec, const GroupResult& group);

}  // namespace moire::validate
