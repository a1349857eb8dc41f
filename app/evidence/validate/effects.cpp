#include "app/evidence/validate/effects.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace moire::validate {

namespace {

const study::MetricInfo wrong_percent = {"wrong_percent",
                                         "Share of the cases whose simulated change has the wrong sign"};
const study::MetricInfo clearly_wrong_percent = {
    "clearly_wrong_percent",
    "The same share among the cases whose measured change exceeds the repetitions' range (`low` to `high`)"};
const study::MetricInfo machines_wrong_percent = {
    "machines_wrong_percent", "Share of the cases whose change has another sign on another machine that measured them"};
const study::MetricInfo bad_choices_percent = {
    "bad_choices_percent",
    "Share of the simulation's choices whose measured value is more than `good_within` above the best measured value"};

// Returns a key made of the metric and of all columns of a case except `column`. Sets `value` to the case's value in
// `column`. Returns nothing if the case has no such column.
std::optional<std::string> without(const Case& one, const std::string& column, std::string& value) {
  std::string rest;
  bool has = false;
  for (const auto& [name, text] : one.named_by) {
    if (name == column) {
      value = text;
      has = true;
    } else {
      rest += fmt::format("{}={} ", name, text);
    }
  }
  return has ? std::optional(rest + one.metric) : std::nullopt;
}

std::optional<double> change(const std::optional<double>& value, const std::optional<double>& reference) {
  if (!value || !reference || *reference == 0) return std::nullopt;
  return 100 * (*value / *reference - 1);
}

// A share of cases, in percent.
struct Share {
  double of = 0, all = 0;
  void count(bool one) {
    all += 1;
    if (one) of += 1;
  }
  double percent() const { return 100 * of / all; }
};

// True if the ranges of the repetitions of both cases do not overlap.
bool is_clear(const Case& a, const Case& b) {
  return a.low && a.high && b.low && b.high && (*a.low > *b.high || *a.high < *b.low);
}

// The simulation makes one choice among all measured cases that differ only in column `by`, if there are at least two.
// Returns the percentage of these choices that are bad (see effects.hpp), or nothing if there is no choice.
std::optional<double> bad_choices(const Effect& spec, const GroupResult& group) {
  struct Choice {
    double simulated = 0, measured = 0, best = 0;
    std::size_t of = 0;
  };
  std::map<std::string, Choice> choices;
  std::string value;
  for (const Case& one : group.cases) {
    const auto rest = without(one, spec.by, value);
    if (!rest || !one.measured) continue;
    Choice& choice = choices[*rest];
    if (choice.of == 0 || one.simulated < choice.simulated) {
      choice.simulated = one.simulated;
      choice.measured = *one.measured;
    }
    choice.best = choice.of == 0 ? *one.measured : std::min(choice.best, *one.measured);
    ++choice.of;
  }
  double bad = 0;
  double made = 0;
  for (const auto& [rest, choice] : choices) {
    if (choice.of < 2) continue;
    ++made;
    if (choice.measured > choice.best * (1 + spec.good_within / 100)) ++bad;
  }
  return made > 0 ? std::optional(100 * bad / made) : std::nullopt;
}

}  // namespace

void EffectSpec::describe(config::Describer<EffectSpec>& d) {
  d.component("effect",
              "How a choice changes a group of a validation file, and how often the simulation predicts the sign of "
              "the change.");
  d.field("name", &EffectSpec::name, "Name of the effect").example("strategies");
  d.field("of", &EffectSpec::of, "Group whose metric changes").example("c3");
  d.field("by", &EffectSpec::by, "Column of the group's `case` that holds the choice").example("strategy");
  d.field("against", &EffectSpec::against,
          "Value of column `by`; the other cases are compared with the case that has this value")
      .example("compute_first");
  d.field(
       "same_within", &EffectSpec::same_within,
       "If neither the measured nor the simulated change is larger than this, their signs do not matter; default: 0 %")
      .example("2 %")
      .optional();
  d.field(
       "good_within", &EffectSpec::good_within,
       fmt::format("The simulation's choice is good if its measured value is at most this much above the best measured "
                   "value; default: {} %",
                   usual_good_within))
      .example("5 %")
      .optional();
  d.field("most_bad_choices", &EffectSpec::most_bad_choices,
          "Largest share of the simulation's choices whose measured value may be more than `good_within` above the "
          "best measured value")
      .example("20 %")
      .optional();
  d.field("most_wrong", &EffectSpec::most_wrong,
          "Largest share of the cases whose simulated change may have the wrong sign")
      .example("10 %")
      .optional();
}

bool is_right(double measured_percent, double simulated_percent, double same_within) {
  const bool none = std::abs(measured_percent) <= same_within && std::abs(simulated_percent) <= same_within;
  return none || measured_percent * simulated_percent > 0 || measured_percent == simulated_percent;
}

GroupResult effect(const Effect& spec, const GroupResult& group) {
  GroupResult result;
  result.name = spec.name;
  result.kind = "effect";
  result.about = fmt::format("change of {} compared with {} = {}", group.name, spec.by, spec.against);
  result.error_unit = "points";
  std::map<std::string, const Case*> references;
  std::string value;
  for (const Case& one : group.cases) {
    const auto rest = without(one, spec.by, value);
    if (rest && value == spec.against) references.emplace(*rest, &one);
  }
  Share wrong, clearly_wrong, machines;
  for (const Case& one : group.cases) {
    const auto rest = without(one, spec.by, value);
    if (!rest || value == spec.against) continue;
    const auto reference = references.find(*rest);
    const auto simulated =
        reference == references.end() ? std::nullopt : change(one.simulated, reference->second->simulated);
    if (!simulated) {
      result.left_out.push_back(one.name);
      continue;
    }
    Case made;
    made.name = one.name;
    made.curve = value;
    made.metric = "change_percent";
    made.unit = "%";
    made.in_points = true;
    made.simulated = *simulated;
    made.measured = change(one.measured, reference->second->measured);
    made.expected = change(one.expected, reference->second->expected);
    if (made.measured) {
      const bool is_wrong = !is_right(*made.measured, made.simulated, spec.same_within);
      wrong.count(is_wrong);
      if (is_clear(one, *reference->second)) clearly_wrong.count(is_wrong);
      for (std::size_t i = 0; i < std::min(one.again.size(), reference->second->again.size()); ++i) {
        made.again.push_back(change(one.again[i], reference->second->again[i]));
        if (made.again.back()) machines.count(!is_right(*made.measured, *made.again.back(), spec.same_within));
      }
    }
    result.cases.push_back(std::move(made));
  }
  result.summarise();
  if (wrong.all == 0) return result;
  result.metrics.emplace_back(wrong_percent, wrong.percent());
  if (clearly_wrong.all > 0) result.metrics.emplace_back(clearly_wrong_percent, clearly_wrong.percent());
  if (machines.all > 0) result.metrics.emplace_back(machines_wrong_percent, machines.percent());
  if (spec.most_wrong) result.limits.push_back({"wrong_percent", *spec.most_wrong, wrong.percent(), ""});
  if (const auto bad = bad_choices(spec, group)) {
    result.metrics.emplace_back(bad_choices_percent, *bad);
    if (spec.most_bad_choices) result.limits.push_back({"bad_choices_percent", *spec.most_bad_choices, *bad, ""});
  }
  return result;
}

}  // namespace moire::validate
