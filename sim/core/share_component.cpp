// Over 400 lines: the two halves of a solve, which call each other.
// One half finds the loads at which latencies and rates agree; the other half is weighted max-min filling.
#include "sim/core/share_component.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "sim/core/invariant.hpp"
#include "sim/core/power.hpp"
#include "sim/core/sharing.hpp"

namespace moire::core {

namespace {

// The exponent p = 4 in the rate (bound^-p + by_latency^-p)^(-1/p) of an activity whose bound and round trip partly
// overlap in time (ClassSpec::in_turn). p = 1 would add the two times, p = infinity would take the longer one. Measured
// copies by one workgroup lie between these extremes (docs/explanation/sharing.md).
constexpr int turn_exponent = 4;
double turn_power(double x) {
  static_assert(turn_exponent == 4);
  return x * x * (x * x);
}

// Returns the rate that a bound and a round trip allow together. `by_latency` is the rate that the round trip allows.
double limit_of(double bound, double by_latency, bool in_turn) {
  if (!in_turn) return std::min(bound, by_latency);
  const double ratio = std::min(bound, by_latency) / std::max(bound, by_latency);
  return std::min(bound, by_latency) / std::sqrt(std::sqrt(1 + turn_power(ratio)));
}

// Largest number of rounds of the fixed-point iteration, and the change of loads (as fractions of their rates) below
// which it has converged.
constexpr int max_rounds = 64;
constexpr double load_tolerance = 1e-9;

}  // namespace

std::uint32_t ShareComponent::add_constraint(double rate, double latency_growth, double latency_exponent) {
  if (latency_growth > 0) growing_.push_back(static_cast<std::uint32_t>(constraints_.size()));
  constraints_.push_back({.rate = rate, .growth = latency_growth, .exponent = latency_exponent});
  return static_cast<std::uint32_t>(constraints_.size() - 1);
}

void ShareComponent::begin_variable(const ClassSpec& spec) {
  const auto use = static_cast<std::uint32_t>(uses_.size());
  variables_.push_back({.weight = spec.weight,
                        .bound = spec.bound,
                        .window = spec.window,
                        .latency = spec.latency,
                        .delay = spec.delay,
                        .curvature = spec.delay > 0 ? spec.delay * spec.weight / spec.window : 0,
                        .in_turn = spec.in_turn,
                        .first_use = use,
                        .last_use = use});
}

void ShareComponent::add_use(std::uint32_t constraint, double per_work) {
  Variable& v = variables_.back();
  Constraint& k = constraints_[constraint];
  if (v.curvature > 0) k.curved = true;
  if (k.last_user++ == 0) k.curvature = v.curvature;
  k.alike = k.alike && k.curvature == v.curvature;
  uses_.push_back({constraint, per_work, 0, 0});
  v.last_use = static_cast<std::uint32_t>(uses_.size());
}

void ShareComponent::stretched_by(std::uint32_t constraint) {
  variables_.back().stretched_by = constraint;
  ++constraints_[constraint].last_listener;
  loaded_latency_ = true;
}

void ShareComponent::complete() {
  std::uint32_t user = 0;
  std::uint32_t listener = 0;
  for (Constraint& k : constraints_) {
    k.first_user = user;
    user += k.last_user;
    k.last_user = k.first_user;
    k.first_listener = listener;
    listener += k.last_listener;
    k.last_listener = k.first_listener;
  }
  users_.resize(user);
  listeners_.resize(listener);
  for (std::uint32_t i = 0; i < variables_.size(); ++i) {
    Variable& v = variables_[i];
    for (std::uint32_t u = v.first_use; u < v.last_use; ++u) {
      uses_[u].user = constraints_[uses_[u].constraint].last_user++;
      users_[uses_[u].user] = {0, i, u};
    }
    if (v.stretched_by != UINT32_MAX) listeners_[constraints_[v.stretched_by].last_listener++] = i;
    if (v.last_use > v.first_use) order_.push_back(i);
  }
}

void ShareComponent::clear() {
  variables_.clear();
  uses_.clear();
  constraints_.clear();
  growing_.clear();
  order_.clear();
  touched_.clear();
  changed_rates_.clear();
  changed_loads_.clear();
  present_ = 0;
  loaded_latency_ = false;
  uncontended_ = false;
}

void ShareComponent::save(std::vector<std::uint64_t>& words) const {
  words.push_back(uncontended_);
  for (const Variable& v : variables_) {
    words.push_back(v.members);
    words.push_back(std::bit_cast<std::uint64_t>(v.rate));
  }
  for (const Constraint& k : constraints_) words.push_back(std::bit_cast<std::uint64_t>(k.load));
  for (const Constraint& k : constraints_) {
    if (k.growth <= 0) continue;
    for (const double value : {k.assumed, k.stretch, k.steepness}) words.push_back(std::bit_cast<std::uint64_t>(value));
  }
}

void ShareComponent::restore(const std::uint64_t* words) {
  uncontended_ = *words++ != 0;
  const std::uint64_t* of_variables = words;
  words += 2 * variables_.size();
  for (Constraint& k : constraints_) k.load = std::bit_cast<double>(*words++);
  for (Constraint& k : constraints_) {
    if (k.growth <= 0) continue;
    for (double* value : {&k.assumed, &k.stretch, &k.steepness}) *value = std::bit_cast<double>(*words++);
  }
  present_ = 0;
  for (Variable& v : variables_) {
    const auto members = static_cast<std::uint32_t>(*of_variables++);
    v.rate = std::bit_cast<double>(*of_variables++);
    present_ += static_cast<std::uint32_t>(members > 0);
    if (members > 0) limit(v);  // a variable without members gets its limit when members arrive
    if (members == v.members) continue;
    v.members = members;
    set_amounts(v);
  }
}

void ShareComponent::set_amounts(const Variable& v) {
  for (std::uint32_t u = v.first_use; u < v.last_use; ++u) {
    uses_[u].amount = uses_[u].per_work * v.members;
    users_[uses_[u].user].share = uses_[u].amount / constraints_[uses_[u].constraint].rate;
  }
}

void ShareComponent::begin_change() {
  changed_rates_.clear();
  changed_loads_.clear();
}

void ShareComponent::set_members(std::uint32_t variable, std::uint32_t members) {
  Variable& v = variables_[variable];
  present_ += static_cast<std::uint32_t>(members > 0) - static_cast<std::uint32_t>(v.members > 0);
  const bool arrives = v.members == 0;
  v.members = members;
  if (arrives) limit(v);  // the limit may be outdated: changes of the latency skip variables without members
  set_amounts(v);
  report_rate(variable);
  if (uncontended_) touch_uses(v);
}

void ShareComponent::solve() {
  if (!uncontended_ || !solve_touched()) solve_all();
  for (const std::uint32_t i : changed_rates_) variables_[i].reported = false;
  for (const std::uint32_t i : changed_loads_) constraints_[i].reported = false;
}

void ShareComponent::report_rate(std::uint32_t variable) {
  Variable& v = variables_[variable];
  if (v.reported) return;
  v.reported = true;
  changed_rates_.push_back(variable);
}

void ShareComponent::touch(std::uint32_t constraint) {
  if (constraints_[constraint].touched) return;
  constraints_[constraint].touched = true;
  touched_.push_back(constraint);
}

void ShareComponent::touch_uses(const Variable& v) {
  for (std::uint32_t u = v.first_use; u < v.last_use; ++u) touch(uses_[u].constraint);
}

// Returns the load from which the iteration starts. When Sharing rebuilds a component, it converts the component's
// loads to units per second (dissolve()) and back (find_start()), which may change the last bit. The same conversion is
// made here, so that a component that was not rebuilt starts from exactly the same load.
double ShareComponent::load_before(const Constraint& k) { return k.load * k.rate / k.rate; }

// Updates the stretch of the latency of a constraint, and the rates of the variables with this latency.
void ShareComponent::restretch(std::uint32_t constraint) {
  Constraint& k = constraints_[constraint];
  stretch(k);
  for (std::uint32_t l = k.first_listener; l < k.last_listener; ++l) {
    Variable& v = variables_[listeners_[l]];
    if (v.members == 0) continue;
    limit(v);
    if (v.rate == v.limit) continue;
    v.rate = v.limit;
    report_rate(listeners_[l]);
    touch_uses(v);
  }
}

// Solves only what a change affects. This is possible while all rates are at their limits: the change alters loads,
// loads stretch latencies, and latencies alter other loads, by a smaller amount in each round. Returns false if a
// capacity becomes contended or the loads do not converge; then everything must be solved.
bool ShareComponent::solve_touched() {
  for (const std::uint32_t i : changed_rates_) {  // variables whose number of members changed
    Variable& v = variables_[i];
    v.rate = v.members > 0 ? v.limit : 0;
  }
  // Wherever something changed, the iteration starts again from the true load and not from the assumed load. Otherwise
  // errors below the tolerance would add up over many solves.
  corrected_ = touched_;
  for (const std::uint32_t i : corrected_) {
    Constraint& k = constraints_[i];
    if (k.growth <= 0) continue;
    k.assumed = std::min(1.0, load_before(k));
    restretch(i);
  }
  for (int round = 0; !touched_.empty(); ++round) {
    if (round == max_rounds) return false;
    touched_next_.swap(touched_);
    touched_.clear();
    corrected_.clear();
    bool fits = true;
    for (const std::uint32_t i : touched_next_) {
      Constraint& k = constraints_[i];
      if (!k.reported) {
        k.reported = true;
        changed_loads_.push_back(i);
        k.change = 0;
        k.damping = 1;
      }
      if (k.growth <= 0) continue;  // no latency depends on this load, so it is summed once, after this loop
      k.touched = false;
      sum_load(i);
      fits = fits && k.load <= 1;
      if (std::abs(k.load - k.assumed) >= load_tolerance) corrected_.push_back(i);
    }
    if (!fits) return false;
    for (const std::uint32_t i : corrected_) {
      correct(i);
      touch(i);
      restretch(i);
    }
  }
  bool fits = true;
  for (const std::uint32_t i : changed_loads_) {
    Constraint& k = constraints_[i];
    if (k.growth > 0) continue;
    k.touched = false;
    sum_load(i);
    fits = fits && k.load <= 1;
  }
  return fits;
}

void ShareComponent::solve_all() {
  for (Constraint& k : constraints_) k.touched = false;
  touched_.clear();
  changed_loads_.clear();
  for (std::uint32_t i = 0; i < constraints_.size(); ++i) changed_loads_.push_back(i);
  for (Variable& v : variables_) v.rate_before = v.rate;
  for (Variable& v : variables_) {
    if (v.members > 0) limit(v);
  }
  if (loaded_latency_) {
    find_loads();
  } else {
    fill();
    sum_loads();
  }
  for (std::uint32_t i = 0; i < variables_.size(); ++i) {
    if (variables_[i].rate != variables_[i].rate_before) report_rate(i);
  }
}

void ShareComponent::limit(Variable& v) const {
  const double stretch = v.stretched_by == UINT32_MAX ? 1 : constraints_[v.stretched_by].stretch;
  v.limit = v.window > 0 ? limit_of(v.bound, v.window / (v.latency * stretch + v.delay), v.in_turn) : v.bound;
}

void ShareComponent::stretch(Constraint& k) const {
  const double growth = k.assumed > 0 ? k.growth * power(k.assumed, k.exponent) : 0;
  k.stretch = 1 + growth;
  k.steepness = k.assumed > 0 ? k.exponent * growth / (k.assumed * k.stretch) : 0;
}

// Moves the assumed load towards the resulting load by one Newton step. The error has a kink at the load at which a
// capacity is just full; there a step may overshoot, and the next step may jump back. Therefore the step is halved if
// the error changes its sign and is still more than half as large as before the step.
void ShareComponent::correct(std::uint32_t constraint) {
  Constraint& k = constraints_[constraint];
  const double change = std::min(1.0, k.load) - k.assumed;
  const bool overshot = change * k.change < 0 && std::abs(change) > 0.5 * std::abs(k.change);
  k.damping = overshot ? 0.5 * k.damping : std::min(1.0, 2 * k.damping);
  k.change = change;
  k.assumed = std::clamp(k.assumed + k.damping * change / (1 + slope(constraint)), 0.0, 1.0);
}

// Finds all loads, latencies and rates by fixed-point iteration, because latencies depend on loads, and loads depend on
// latencies.
void ShareComponent::find_loads() {
  for (const std::uint32_t i : growing_) {
    Constraint& k = constraints_[i];
    k.assumed = std::min(1.0, load_before(k));
    k.change = 0;
    k.damping = 1;
  }
  double worst = 1;
  for (int round = 0; round < max_rounds; ++round) {
    for (const std::uint32_t i : growing_) stretch(constraints_[i]);
    if (round == 0 || !adjust()) {
      for (Variable& v : variables_) {
        if (v.stretched_by != UINT32_MAX && v.members > 0) limit(v);
      }
      fill();
      sum_loads();
    }
    worst = 0;
    for (const std::uint32_t i : growing_)
      worst = std::max(worst, std::abs(std::min(1.0, constraints_[i].load) - constraints_[i].assumed));
    if (worst < load_tolerance) break;
    for (const std::uint32_t i : growing_) correct(i);
  }
  MOIRE_INVARIANT(worst < 1e-5, "the loads and the latencies that depend on them do not converge");
}

bool ShareComponent::is_stretched(const Variable& v) const {
  return v.stretched_by != UINT32_MAX && v.rate == v.limit && v.limit < v.bound;
}

// Returns the latency's share of the round trip, times d log(rate) / d log(1 / round trip).
double ShareComponent::latency_share(const Variable& v) const {
  const double round_trip = v.latency * constraints_[v.stretched_by].stretch + v.delay;
  return (1 - v.delay / round_trip) * (v.in_turn ? turn_power(v.limit * round_trip / v.window) : 1);
}

// Adjusts limits and rates to the present latencies without filling. This is possible as long as the same capacities
// are full and stop the same variables: no variable that uses a full capacity may have another rate, and no other
// capacity may become full. Then the rates fulfil the sharing law. Returns false if a fill is necessary.
bool ShareComponent::adjust() {
  const auto is_full = [this](const Use& use) { return constraints_[use.constraint].full; };
  for (Variable& v : variables_) {
    if (v.stretched_by == UINT32_MAX || v.members == 0) continue;
    const double before = v.limit;
    limit(v);
    if (v.limit == before) continue;
    if (v.full_at > 0) {
      if (level_of_limit(v) <= v.full_at) return false;
    } else {
      if (std::any_of(uses_.begin() + v.first_use, uses_.begin() + v.last_use, is_full)) return false;
      v.rate = v.limit;
    }
  }
  sum_loads();
  return std::all_of(constraints_.begin(), constraints_.end(),
                     [](const Constraint& k) { return k.full || k.load <= 1; });
}

void ShareComponent::sum_loads() {
  for (std::uint32_t i = 0; i < constraints_.size(); ++i) sum_load(i);
}

void ShareComponent::sum_load(std::uint32_t constraint) {
  Constraint& k = constraints_[constraint];
  k.load = 0;
  for (std::uint32_t u = k.first_user; u < k.last_user; ++u) {
    k.load += users_[u].share * variables_[users_[u].variable].rate;
  }
}

// Returns -d load / d assumed load. Only variables whose rate is limited by the stretched latency contribute.
double ShareComponent::slope(std::uint32_t constraint) const {
  const Constraint& k = constraints_[constraint];
  double slope = 0;
  for (std::uint32_t u = k.first_user; u < k.last_user; ++u) {
    const Variable& v = variables_[users_[u].variable];
    if (v.members > 0 && v.stretched_by == constraint && is_stretched(v))
      slope += users_[u].share * v.rate * latency_share(v);
  }
  return slope * k.steepness;
}

// Finds the contended capacities: those whose users, at their limits, would together demand more than the rate. Every
// other capacity constrains nobody, whatever the rates are. Most capacities are not contended.
void ShareComponent::find_contended() {
  for (Constraint& k : constraints_) {
    k.most = 0;
    k.weight = 0;
    k.users = 0;
    k.full = false;
  }
  for (const Variable& v : variables_) {
    if (v.members == 0) continue;
    for (std::uint32_t u = v.first_use; u < v.last_use; ++u) {
      Constraint& k = constraints_[uses_[u].constraint];
      k.most += uses_[u].amount * v.limit;
      k.weight += uses_[u].amount * v.weight;
      ++k.users;
    }
  }
  fullness_.clear();
  for (std::uint32_t i = 0; i < constraints_.size(); ++i) {
    Constraint& k = constraints_[i];
    k.contended = k.most > k.rate;
    if (!k.contended) continue;
    k.free = k.rate;
    k.rising_weight = k.summed_weight = k.weight;
    k.rising = k.users;
    k.stopped = k.curved;
    fullness_.push_back({k.rate / k.weight, i});
  }
  std::make_heap(fullness_.begin(), fullness_.end(), FullerLater{});
  uncontended_ = fullness_.empty();
}

double ShareComponent::level_of_limit(const Variable& v) {
  return v.curvature > 0 ? v.limit / (v.weight - v.curvature * v.limit) : v.limit / v.weight;
}

// Progressive filling: the rates of all classes rise in proportion to their weights. The common factor is the filling
// level. The rate of a class with a delay rises more slowly at high levels (Variable::curvature). A rate stops when it
// reaches the limit of its class, or when a capacity that the class uses is full.
void ShareComponent::fill() {
  find_contended();
  for (Variable& v : variables_) {
    v.rate = v.members > 0 ? v.limit : 0;
    v.full_at = 0;
  }
  if (uncontended_) return;
  for (const Fullness& one : fullness_) {
    const Constraint& k = constraints_[one.constraint];
    for (std::uint32_t u = k.first_user; u < k.last_user; ++u) {
      Variable& v = variables_[users_[u].variable];
      if (v.members == 0 || v.rising) continue;
      v.rising = true;
      v.level = level_of_limit(v);
    }
  }
  const auto lower = [&](std::uint32_t a, std::uint32_t b) {
    return variables_[a].level != variables_[b].level ? variables_[a].level < variables_[b].level : a < b;
  };
  // The order of levels changes little between solves, so few entries are out of place.
  for (auto next = order_.begin(); next != order_.end(); ++next) {
    if (next != order_.begin() && lower(*next, next[-1]))
      std::rotate(std::upper_bound(order_.begin(), next, *next, lower), next, next + 1);
  }
  double level = -1;  // at which the next capacity is full; it only rises, so an old value is a lower bound
  for (std::size_t next = 0; next < order_.size();) {
    Variable& v = variables_[order_[next]];
    if (!v.rising) {
      ++next;
    } else if (v.level <= level) {
      freeze(v, v.limit);
    } else {
      const Fullness* first = first_full();
      level = first ? first->level : std::numeric_limits<double>::infinity();
      if (v.level <= level) continue;
      Constraint& full = constraints_[first->constraint];
      full.full = true;
      for (std::uint32_t u = full.first_user; u < full.last_user; ++u) {
        Variable& user = variables_[users_[u].variable];
        if (!user.rising) continue;
        freeze(user, user.weight * level / (1 + user.curvature * level));
        user.full_at = level;
      }
    }
  }
}

void ShareComponent::freeze(Variable& v, double rate) {
  v.rising = false;
  v.rate = rate;
  for (std::uint32_t u = v.first_use; u < v.last_use; ++u) {
    Constraint& k = constraints_[uses_[u].constraint];
    if (!k.contended) continue;
    k.free = std::max(0.0, k.free - uses_[u].amount * rate);
    k.rising_weight -= uses_[u].amount * v.weight;
    --k.rising;
    k.stopped = true;
  }
}

// Returns the capacity that is full first, and its level; null if no class rises through a contended capacity.
//
// When a class stops, the levels at which capacities are full can only rise. So an old level is a lower bound, and only
// the lowest level of the heap must be computed again, until the lowest is up to date. A fill with n capacities
// therefore takes n log n steps and not n squared.
const ShareComponent::Fullness* ShareComponent::first_full() {
  while (!fullness_.empty()) {
    const Fullness& lowest = fullness_.front();
    Constraint& k = constraints_[lowest.constraint];
    if (k.rising > 0 && !k.stopped) return &lowest;
    std::pop_heap(fullness_.begin(), fullness_.end(), FullerLater{});
    if (k.rising == 0) {
      fullness_.pop_back();
      continue;
    }
    update_level(k, fullness_.back().level);
    std::push_heap(fullness_.begin(), fullness_.end(), FullerLater{});
  }
  return nullptr;
}

// Improves `level`, a lower bound of the filling level at which a capacity is full. Delays of users
// (Variable::curvature) only raise this level, so the level without delays is a lower bound too. If the level without
// delays is above the old bound, it becomes the new bound; else the exact level is computed.
void ShareComponent::update_level(Constraint& k, double& level) const {
  // Users that stopped were subtracted from rising_weight. If less than this share of the sum is left, the rest has a
  // large relative rounding error, so the sum is computed again.
  constexpr double noisy = 1e-4;
  if (k.rising_weight < noisy * k.summed_weight) {
    k.rising_weight = 0;
    for (std::uint32_t u = k.first_user; u < k.last_user; ++u) {
      const Variable& v = variables_[users_[u].variable];
      if (v.rising) k.rising_weight += uses_[users_[u].use].amount * v.weight;
    }
    k.summed_weight = k.rising_weight;
  }
  const double straight = k.free / k.rising_weight;
  if (!k.curved) {
    level = straight;
    k.stopped = false;
  } else if (straight > level) {
    level = straight;
  } else {
    level = level_when_full(k, level);
    k.stopped = false;
  }
}

// Finds the level at which the rising users of a capacity demand all that is free. Their demand is a concave function
// of the level. The argument `level` is not above the root: it is the level without curvature, or the level at which
// the capacity was full before more users stopped. Newton's steps therefore approach the root from below and never pass
// it. The level is infinite if the demand never reaches what is free, and it stays infinite when more users stop.
double ShareComponent::level_when_full(const Constraint& k, double level) const {
  constexpr int max_steps = 64;
  constexpr double tolerance = 1e-14;
  if (k.alike) {  // closed form: weight x level / (1 + curvature x level) = free
    const double left = k.rising_weight - k.curvature * k.free;
    return left > 0 ? k.free / left : std::numeric_limits<double>::infinity();
  }
  for (int step = 0; step < max_steps && std::isfinite(level); ++step) {
    double taken = 0;
    double slope = 0;
    for (std::uint32_t u = k.first_user; u < k.last_user; ++u) {
      const Variable& v = variables_[users_[u].variable];
      if (!v.rising) continue;
      const double flat = 1 / (1 + v.curvature * level);
      const double steep = uses_[users_[u].use].amount * v.weight * flat;
      taken += steep * level;
      slope += steep * flat;
    }
    const double change = (k.free - taken) / slope;
    if (!(change > tolerance * level)) break;
    level += change;
  }
  return level;
}

}  // namespace moire::core
