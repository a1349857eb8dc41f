// The effect of a choice: how much a metric changes from one value of a column to another, measured and simulated.
//
//   effects:
//     - {name: strategies, of: c3, by: strategy, against: compute_first, same_within: 2 %, most_wrong: 10 %,
//        most_bad_choices: 20 %}
//
// What designers ask first is not how long something takes but whether it is better. An effect is right where the
// simulation has its sign, and where both say that there is next to none (`same_within`). And whoever takes what the
// simulation says is the shortest should lose little: a choice is bad where its measured value is more than
// `good_within` above the best measured one.
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

// Of a choice by the simulation: how much longer, in percent, its measured value may be than the best measured one. The
// goal for the choice of a strategy is stated with it, and works that run alone have errors of 2 to 5 % (README): what
// is closer together than that no simulation of such parts can tell apart.
inline constexpr double usual_good_within = 5;

struct Effect {
  std::string name;
  std::size_t of = 0;  // number of a group
  std::string by, against;
  double same_within = 0;  // percent
  std::optional<double> most_wrong;
  std::optional<double> most_bad_choices;
  double good_within = usual_good_within;  // percent
};

bool is_right(double measured_percent, double simulated_percent, double same_within);

// Cases of `group` that differ in column `by` alone are compared with the one that has `against` there.
GroupResult effect(const Effect& spec, const GroupResult& group);

}  // namespace moire::validate
