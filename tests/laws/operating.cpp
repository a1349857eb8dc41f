#include "tests/laws/operating.hpp"

#include <fmt/format.h>

#include <cmath>

namespace moire::laws {

namespace {

// Relative tolerance of times. The search for the clock of a steady state stops when the power is within 0.05 % of its
// limit, so times at the found clock are inexact.
constexpr double as_found = 2e-3;

Scenario at(Scenario scenario, const std::string& point) {
  scenario.changes.push_back({"operating_point", point});
  return scenario;
}

}  // namespace

Verdict operated(const Case& one, Random random, const Cost& cost) {
  const Scenario plain = one.scenario();
  const Outcome burst = simulate(plain, cost.most_spans);
  if (!burst.ran()) return not_run(one, burst, plain);
  const bool by_clock = random.one_in(2);
  const double low = random.of({0.4, 0.6, 0.8}), high = low + random.of({0.05, 0.2});
  const auto point = [&](double share) {
    return by_clock ? fmt::format("{{clock: {} GHz}}", 1.98 * share) : fmt::format("{{power_cap: {} W}}", 700 * share);
  };
  const std::vector<Scenario> scenarios = {at(plain, "sustained"), at(plain, point(high)), at(plain, point(low))};
  std::vector<Outcome> ran;
  for (const Scenario& scenario : scenarios) {
    ran.push_back(simulate(scenario, 20 * cost.most_spans));
    // A run is refused if the GPU has no power model, or does not have this clock.
    if (ran.back().kind == Outcome::Kind::refused) return {Found::refused};
    if (!ran.back().ran()) return not_run(one, ran.back(), scenario);
  }
  const auto broken = [&](const std::string& why) {
    return Verdict{
        Found::broken, by_clock ? "clock" : "power limit", why, {plain, scenarios[0], scenarios[1], scenarios[2]}};
  };
  const double tolerance = most_reordered_of(one);
  double met = 0;
  const auto faster = [&](const Outcome& slow, const Outcome& fast) {
    if (slow.ps() >= fast.ps() * (1 - as_found) - rounding(slow, fast)) return false;
    met = std::max(met, 1 - slow.ps() / fast.ps());
    return slow.ps() < fast.ps() * (1 - tolerance - as_found);
  };
  if (faster(ran[0], burst)) return broken("sustained is faster than burst");
  if (faster(ran[2], ran[1])) return broken(point(low) + " is faster than " + point(high));
  if (ran[0].result.clock_share == 1 && ran[0].result.time != burst.result.time)
    return broken("sustained at the full clock differs from burst");
  for (const Outcome& outcome : ran) {
    const double energy = outcome.metric("energy_j"), watts = outcome.metric("power_mean_w");
    const double other = watts * outcome.ranks * outcome.metric("repeated_us") * 1e-6;
    constexpr double told = 1e-6;  // metrics have six decimals
    if (std::abs(energy - other) > 1e-3 * energy + told)
      return broken(fmt::format("the energy is {} J, but power times time is {} J", energy, other));
    if (watts > outcome.metric("power_peak_w") * (1 + 1e-6)) return broken("the mean power is above the peak power");
  }
  return met > 0 ? reordered({}, met) : Verdict{};
}

}  // namespace moire::laws
