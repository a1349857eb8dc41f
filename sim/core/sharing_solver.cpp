// The solver of the sharing law: what is connected to a change, the loads at which latencies and rates agree, and
// weighted max-min filling.
#include <algorithm>
#include <cmath>

#include "sim/core/invariant.hpp"
#include "sim/core/power.hpp"
#include "sim/core/sharing.hpp"

namespace moire::core {

namespace {

// The exponent p = 4 of (bound^-p + by_latency^-p)^(-1/p) where a bound and a round trip take turns: 1 would add their
// times, infinity take the longer one, and measured copies of one workgroup lie between (docs/explanation/sharing.md).
constexpr int turn_exponent = 4;
double turn_power(double x) {
  static_assert(turn_exponent == 4);
  return x * x * (x * x);
}

// The rate that a bound and a round trip leave together.
double limit_of(double bound, double by_latency, bool in_turn) {
  if (!in_turn) return std::min(bound, by_latency);
  const double ratio = std::min(bound, by_latency) / std::max(bound, by_latency);
  return std::min(bound, by_latency) / std::sqrt(std::sqrt(1 + turn_power(ratio)));
}

}  // namespace

// All classes that share a capacity with the seed, directly or through others.
void Sharing::collect_component(ClassId seed) {
  if (collected_ && classes_[seed].mark == mark_) return;
  collected_ = true;
  ++mark_;
  component_classes_.assign(1, seed);
  component_capacities_.clear();
  classes_[seed].mark = mark_;
  for (std::size_t i = 0; i < component_classes_.size(); ++i) {
    for (const Demand& demand : classes_[component_classes_[i]].spec.demands) {
      Capacity& capacity = capacities_[demand.capacity];
      if (capacity.mark == mark_) continue;
      capacity.mark = mark_;
      component_capacities_.push_back(demand.capacity);
      for (const ClassId neighbour : capacity.active) {
        if (classes_[neighbour].mark == mark_) continue;
        classes_[neighbour].mark = mark_;
        component_classes_.push_back(neighbour);
      }
    }
  }
  // The order of summation must not depend on which member changed first.
  std::sort(component_classes_.begin(), component_classes_.end());
  std::sort(component_capacities_.begin(), component_capacities_.end());

  constraints_.clear();
  for (const CapacityId id : component_capacities_) {
    const CapacitySpec& spec = capacities_[id].spec;
    capacities_[id].place = static_cast<std::uint32_t>(constraints_.size());
    constraints_.push_back({.rate = spec.rate, .growth = spec.latency_growth, .exponent = spec.latency_exponent});
  }
  variables_.clear();
  uses_.clear();
  order_.clear();
  loaded_latency_ = false;
  for (const ClassId id : component_classes_) {
    const ClassSpec& spec = classes_[id].spec;
    Variable v{.weight = spec.weight,
               .bound = spec.bound,
               .window = spec.window,
               .latency = spec.latency,
               .delay = spec.delay,
               .curvature = spec.delay > 0 ? spec.delay * spec.weight / spec.window : 0,
               .in_turn = spec.in_turn};
    v.first_use = static_cast<std::uint32_t>(uses_.size());
    for (const Demand& demand : spec.demands) {
      if (demand.per_work <= 0) continue;
      uses_.push_back({capacities_[demand.capacity].place, demand.per_work, 0});
      Constraint& k = constraints_[uses_.back().constraint];
      if (v.curvature > 0) k.curved = true;
      if (k.last_user++ == 0) k.curvature = v.curvature;
      k.alike = k.alike && k.curvature == v.curvature;
    }
    v.last_use = static_cast<std::uint32_t>(uses_.size());
    if (spec.window > 0 && spec.latency_capacity != no_id &&
        capacities_[spec.latency_capacity].spec.latency_growth > 0) {
      v.stretched_by = capacities_[spec.latency_capacity].place;
      loaded_latency_ = true;
    }
    if (v.last_use > v.first_use) order_.push_back(static_cast<std::uint32_t>(variables_.size()));
    variables_.push_back(v);
  }
  users_.resize(uses_.size());
  std::uint32_t first = 0;
  for (Constraint& k : constraints_) {
    k.first_user = first;
    first += k.last_user;
    k.last_user = k.first_user;
  }
  for (std::uint32_t i = 0; i < variables_.size(); ++i) {
    for (std::uint32_t u = variables_[i].first_use; u < variables_[i].last_use; ++u) {
      users_[constraints_[uses_[u].constraint].last_user++] = {i, u};
    }
  }
}

void Sharing::weigh() {
  for (Constraint& k : constraints_) {
    k.weight = 0;
    k.users = 0;
  }
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    Variable& v = variables_[i];
    const std::uint32_t members = classes_[component_classes_[i]].members;
    v.present = members > 0;
    for (std::uint32_t u = v.first_use; u < v.last_use; ++u) {
      Use& use = uses_[u];
      use.amount = use.per_work * members;
      constraints_[use.constraint].weight += use.amount * v.weight;
      if (v.present) ++constraints_[use.constraint].users;
    }
    v.limit = v.window > 0 ? limit_of(v.bound, v.window / (v.latency + v.delay), v.in_turn) : v.bound;
  }
}

void Sharing::solve_component() {
  ++solves_;
  weigh();
  if (loaded_latency_) {
    find_loads();
  } else {
    fill();
    sum_loads();
  }
  for (std::size_t i = 0; i < constraints_.size(); ++i) {
    capacities_[component_capacities_[i]].used = constraints_[i].load * constraints_[i].rate;
  }
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    Class& c = classes_[component_classes_[i]];
    c.solved_members = c.members;
    c.solved_at = settlement_;
    if (c.rate == variables_[i].rate && !c.dirty) continue;  // its timer still holds
    advance(c);
    c.rate = variables_[i].rate;
    retime(component_classes_[i]);
  }
  if (observer_ != nullptr) {
    for (const CapacityId id : component_capacities_) observer_->capacity_load(id, loop_.now(), capacities_[id].used);
  }
}

// The loaded latency depends on the load and the load on the latency: a fixed point, found by Newton steps on each
// capacity's load. Where the answer has a kink (a capacity just full) a step may jump across it and back: a capacity
// whose error changes its sign without shrinking takes half the step.
void Sharing::find_loads() {
  constexpr int max_rounds = 64;
  constexpr double tolerance = 1e-9;
  for (std::size_t i = 0; i < constraints_.size(); ++i) {
    Constraint& k = constraints_[i];
    k.assumed = std::min(1.0, capacities_[component_capacities_[i]].used / k.rate);
    k.change = 0;
    k.damping = 1;
  }
  double worst = 1;
  for (int round = 0; round < max_rounds && worst >= tolerance; ++round) {
    for (Constraint& k : constraints_) {
      if (k.growth <= 0) continue;
      const double growth = k.assumed > 0 ? k.growth * power(k.assumed, k.exponent) : 0;
      k.stretch = 1 + growth;
      k.steepness = k.assumed > 0 ? k.exponent * growth / (k.assumed * k.stretch) : 0;
    }
    for (Variable& v : variables_) {
      if (v.stretched_by == no_id) continue;
      const double round_trip = v.latency * constraints_[v.stretched_by].stretch + v.delay;
      v.limit = limit_of(v.bound, v.window / round_trip, v.in_turn);
    }
    fill();
    sum_loads();
    worst = 0;
    for (Constraint& k : constraints_) {
      if (k.growth <= 0) continue;
      const double change = std::min(1.0, k.load) - k.assumed;
      worst = std::max(worst, std::abs(change));
      const bool overshot = change * k.change < 0 && std::abs(change) > 0.5 * std::abs(k.change);
      k.damping = overshot ? 0.5 * k.damping : std::min(1.0, 2 * k.damping);
      k.change = change;
      k.assumed = std::clamp(k.assumed + k.damping * change / (1 + k.slope), 0.0, 1.0);
    }
  }
  MOIRE_INVARIANT(worst < 1e-5, "load and latency find no balance");
}

void Sharing::sum_loads() {
  for (Constraint& k : constraints_) k.load = k.slope = 0;
  for (const Variable& v : variables_) {
    const bool stretched = v.stretched_by != no_id && v.rate == v.limit && v.limit < v.bound;
    double latency_share = 0;  // of a round trip, times what of it the rate follows
    if (stretched) {
      const double round_trip = v.latency * constraints_[v.stretched_by].stretch + v.delay;
      latency_share = (1 - v.delay / round_trip) * (v.in_turn ? turn_power(v.limit * round_trip / v.window) : 1);
    }
    for (std::uint32_t u = v.first_use; u < v.last_use; ++u) {
      Constraint& k = constraints_[uses_[u].constraint];
      const double load = uses_[u].amount * v.rate / k.rate;
      k.load += load;
      if (stretched && uses_[u].constraint == v.stretched_by) k.slope += load * k.steepness * latency_share;
    }
  }
}

// A capacity that has room for the limits of all its users stops nobody, whatever the others do. Most are like that.
bool Sharing::find_contended() {
  for (Constraint& k : constraints_) k.most = 0;
  for (const Variable& v : variables_) {
    if (!v.present) continue;
    for (std::uint32_t u = v.first_use; u < v.last_use; ++u) {
      constraints_[uses_[u].constraint].most += uses_[u].amount * v.limit;
    }
  }
  contended_.clear();
  for (std::uint32_t i = 0; i < constraints_.size(); ++i) {
    Constraint& k = constraints_[i];
    k.contended = k.most > k.rate;
    if (!k.contended) continue;
    contended_.push_back(i);
    k.free = k.rate;
    k.rising_weight = k.summed_weight = k.weight;
    k.rising = k.users;
    k.full_at = 0;
    k.changed = true;
  }
  return !contended_.empty();
}

// Progressive filling: all classes rise with their weight until they meet their own limit or a capacity is full.
void Sharing::fill() {
  const bool some_contended = find_contended();
  for (Variable& v : variables_) {
    v.rate = v.present ? v.limit : 0;
    v.rising = false;
  }
  if (!some_contended) return;
  for (Variable& v : variables_) {
    v.level = v.curvature > 0 ? v.limit / (v.weight - v.curvature * v.limit) : v.limit / v.weight;
    for (std::uint32_t u = v.first_use; u < v.last_use && v.present; ++u) {
      if (constraints_[uses_[u].constraint].contended) v.rising = true;
    }
  }
  const auto lower = [&](std::uint32_t a, std::uint32_t b) {
    return variables_[a].level != variables_[b].level ? variables_[a].level < variables_[b].level : a < b;
  };
  // Levels seldom change places from one solve to the next.
  if (!std::is_sorted(order_.begin(), order_.end(), lower)) std::sort(order_.begin(), order_.end(), lower);
  double level = -1;  // of the first capacity to be full; it only rises, so an old one serves until it is passed
  for (std::size_t next = 0; next < order_.size();) {
    Variable& v = variables_[order_[next]];
    if (!v.rising) {
      ++next;
    } else if (v.level <= level) {
      freeze(v, v.limit);
    } else {
      const Constraint* full = nullptr;
      level = full_level(full);
      if (v.level <= level) continue;
      for (std::uint32_t u = full->first_user; u < full->last_user; ++u) {
        Variable& user = variables_[users_[u].variable];
        if (user.rising) freeze(user, user.weight * level / (1 + user.curvature * level));
      }
    }
  }
}

void Sharing::freeze(Variable& v, double rate) {
  v.rising = false;
  v.rate = rate;
  for (std::uint32_t u = v.first_use; u < v.last_use; ++u) {
    Constraint& k = constraints_[uses_[u].constraint];
    if (!k.contended) continue;
    k.free = std::max(0.0, k.free - uses_[u].amount * rate);
    k.rising_weight -= uses_[u].amount * v.weight;
    --k.rising;
    k.changed = true;
  }
}

double Sharing::full_level(const Constraint*& full) {
  double level = std::numeric_limits<double>::infinity();
  for (const std::uint32_t i : contended_) {
    Constraint& k = constraints_[i];
    if (k.rising == 0 || k.full_at >= level) continue;
    if (k.changed) {
      if (k.rising_weight < 1e-4 * k.summed_weight) {  // what a subtraction leaves of a large sum is noise: sum again
        k.rising_weight = 0;
        for (std::uint32_t u = k.first_user; u < k.last_user; ++u) {
          const Variable& v = variables_[users_[u].variable];
          if (v.rising) k.rising_weight += uses_[users_[u].use].amount * v.weight;
        }
        k.summed_weight = k.rising_weight;
      }
      const double straight = k.free / k.rising_weight;
      if (straight >= level) continue;  // curvature only makes it later
      k.full_at = k.curved ? level_when_full(k, std::max(straight, k.full_at)) : straight;
      k.changed = false;
    }
    if (k.full_at < level) {
      level = k.full_at;
      full = &k;
    }
  }
  return level;
}

// What the users that still rise take of a capacity is concave in their level. At the level that straight users would
// fill it at, and at one where it was full before others stopped, it is not full: from there Newton's steps go up to the
// root and never past it.
double Sharing::level_when_full(const Constraint& k, double level) const {
  constexpr int max_steps = 64;
  constexpr double tolerance = 1e-14;
  if (k.alike) {  // weight x level / (1 + curvature x level) = free
    const double left = k.rising_weight - k.curvature * k.free;
    return left > 0 ? k.free / left : std::numeric_limits<double>::infinity();
  }
  for (int step = 0; step < max_steps; ++step) {
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
    if (change <= tolerance * level) return level;
    level += change;
    if (!std::isfinite(level)) break;
  }
  return level;
}

}  // namespace moire::core
