#include "sim/core/sharing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/core/invariant.hpp"
#include "sim/core/power.hpp"

namespace moire::core {

Sharing::Sharing(RunLoop& loop, std::uint32_t component) : loop_(loop), component_(component) { loop.add(*this); }

CapacityId Sharing::add_capacity(CapacitySpec spec) {
  MOIRE_INVARIANT(spec.rate > 0 && std::isfinite(spec.rate), "a capacity needs a positive rate: " + spec.name);
  MOIRE_INVARIANT(spec.latency_growth >= 0 && spec.latency_exponent > 0, "latency falls with load: " + spec.name);
  capacities_.push_back({});
  capacities_.back().spec = std::move(spec);
  return static_cast<CapacityId>(capacities_.size() - 1);
}

ClassId Sharing::add_class(ClassSpec spec) {
  MOIRE_INVARIANT(spec.demands.empty() || spec.weight > 0, "a class that demands capacities needs a weight");
  MOIRE_INVARIANT(spec.bound > 0, "a class needs a positive bound");
  MOIRE_INVARIANT(!spec.demands.empty() || std::isfinite(spec.bound) || spec.window > 0, "a class has no bound at all");
  MOIRE_INVARIANT(spec.window <= 0 || spec.latency > 0, "a window needs a latency");
  std::vector<Demand> merged;  // a copy that reads and writes one memory may name it twice
  for (const Demand& demand : spec.demands) {
    MOIRE_INVARIANT(demand.capacity < capacities_.size() && demand.per_work > 0, "a class has a malformed demand");
    const auto same = std::find_if(merged.begin(), merged.end(),
                                   [&](const Demand& other) { return other.capacity == demand.capacity; });
    if (same == merged.end()) {
      merged.push_back(demand);
    } else {
      same->per_work += demand.per_work;
    }
  }
  if (const CapacityId k = spec.latency_capacity; k != no_id) {
    MOIRE_INVARIANT(k < capacities_.size(), "a class's latency grows with an unknown capacity");
    const bool demanded =
        std::any_of(merged.begin(), merged.end(), [&](const Demand& demand) { return demand.capacity == k; });
    // It takes nothing there, but has to be solved again when the load changes.
    if (!demanded && spec.window > 0 && capacities_[k].spec.latency_growth > 0) merged.push_back({k, 0});
  }
  spec.demands = std::move(merged);
  classes_.emplace_back();
  classes_.back().spec = std::move(spec);
  return static_cast<ClassId>(classes_.size() - 1);
}

ActivityId Sharing::start(ClassId into, double work, EventSink& sink, std::uint64_t payload) {
  MOIRE_INVARIANT(work >= 0 && std::isfinite(work), "an activity needs a finite amount of work");
  ActivityId id;
  if (free_activities_.empty()) {
    id = static_cast<ActivityId>(activities_.size());
    activities_.emplace_back();
  } else {
    id = free_activities_.back();
    free_activities_.pop_back();
  }
  activities_[id].sink = &sink;
  activities_[id].payload = payload;
  enter(classes_[into], into, id, work);
  return id;
}

void Sharing::move(ActivityId id, ClassId into) {
  Activity& activity = activities_[id];
  MOIRE_INVARIANT(activity.sequence != UINT64_MAX, "an activity that has ended was moved");
  if (activity.in == into) return;
  Class& from = classes_[activity.in];
  advance(from);
  const double ahead = activity.finish - from.virtual_clock;
  const double rest = std::max(0.0, ahead);
  from.started -= rest;
  from.progressed += std::min(0.0, ahead);  // it was due in this instant: its exact work, not the rounded-up one
  --from.members;                           // its heap entry is stale from now on: the sequence no longer matches
  mark_dirty(activity.in);
  enter(classes_[into], into, id, rest);
}

void Sharing::enter(Class& c, ClassId id, ActivityId activity_id, double work) {
  advance(c);
  if (c.members == 0) {
    c.heap.clear();
    c.virtual_clock = 0;  // no member remembers the old clock: keep its numbers small
  }
  Activity& activity = activities_[activity_id];
  activity.in = id;
  activity.sequence = sequence_++;
  activity.finish = c.virtual_clock + work;
  c.started += work;
  ++c.members;
  c.heap.push_back({activity.finish, activity.sequence, activity_id});
  std::push_heap(c.heap.begin(), c.heap.end(), later);
  if (c.heap.size() > 2 * std::size_t{c.members} + 32) {  // mostly entries of members that moved away
    std::erase_if(c.heap, [&](const Member& m) { return stale(m); });
    std::make_heap(c.heap.begin(), c.heap.end(), later);
  }
  mark_dirty(id);
}

void Sharing::advance(Class& c) {
  const Time now = loop_.now();
  if (c.updated == now) return;
  const double progress = c.rate * (now - c.updated).seconds();
  c.updated = now;
  if (c.members == 0) return;
  c.virtual_clock += progress;
  c.progressed += progress * c.members;
}

void Sharing::mark_dirty(ClassId id) {
  Class& c = classes_[id];
  if (c.dirty) return;
  c.dirty = true;
  dirty_.push_back(id);
}

void Sharing::drop_stale(Class& c) {
  while (!c.heap.empty() && stale(c.heap.front())) {
    std::pop_heap(c.heap.begin(), c.heap.end(), later);
    c.heap.pop_back();
  }
}

void Sharing::fire(std::uint64_t class_id) {
  const auto id = static_cast<ClassId>(class_id);
  classes_[id].timer = Calendar::none;
  advance(classes_[id]);
  mark_dirty(id);
  while (true) {
    Class& c = classes_[id];  // the sinks may add classes and, once the last member is gone, reset the clock
    drop_stale(c);
    // The timer was set for the last digit of the clock: twice the slack, or a member could wait for ever at its end.
    if (c.heap.empty() || c.heap.front().finish > c.virtual_clock + 2 * slack(c)) break;
    const ActivityId done = c.heap.front().activity;
    std::pop_heap(c.heap.begin(), c.heap.end(), later);
    c.heap.pop_back();
    --c.members;
    c.progressed += activities_[done].finish - c.virtual_clock;  // exact work, not the rounded-up one
    const Activity activity = activities_[done];
    activities_[done].sequence = UINT64_MAX;
    free_activities_.push_back(done);
    activity.sink->fire(activity.payload);
  }
}

void Sharing::settle() {
  if (dirty_.empty()) return;
  std::sort(dirty_.begin(), dirty_.end());
  for (const ClassId id : dirty_) {
    Class& c = classes_[id];
    advance(c);
    if (c.members > 0 && !c.listed) list(id);
    if (c.members == 0 && c.listed) unlist(id);
  }
  ++settlement_;
  for (const ClassId id : dirty_) {
    Class& c = classes_[id];
    if (c.members != c.solved_members) {
      collect_component(id);
      solve_component();
    } else if (c.solved_at != settlement_) {
      retime(id);  // same population: only the next member to end may be another one
    }
    c.dirty = false;
  }
  dirty_.clear();
}

void Sharing::list(ClassId id) {
  collected_ = false;
  classes_[id].listed = true;
  for (const Demand& demand : classes_[id].spec.demands) {
    auto& active = capacities_[demand.capacity].active;
    active.insert(std::lower_bound(active.begin(), active.end(), id), id);
  }
}

void Sharing::unlist(ClassId id) {
  collected_ = false;
  classes_[id].listed = false;
  for (const Demand& demand : classes_[id].spec.demands) {
    auto& active = capacities_[demand.capacity].active;
    active.erase(std::lower_bound(active.begin(), active.end(), id));
  }
}

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
    Variable v{.weight = spec.weight, .bound = spec.bound, .window = spec.window, .latency = spec.latency};
    v.first_use = static_cast<std::uint32_t>(uses_.size());
    for (const Demand& demand : spec.demands) {
      if (demand.per_work > 0) uses_.push_back({capacities_[demand.capacity].place, demand.per_work, 0});
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
  for (const Use& use : uses_) ++constraints_[use.constraint].last_user;
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
    v.limit = v.window > 0 ? std::min(v.bound, v.window / v.latency) : v.bound;
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
      v.limit = std::min(v.bound, v.window / (v.latency * constraints_[v.stretched_by].stretch));
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
    for (std::uint32_t u = v.first_use; u < v.last_use; ++u) {
      Constraint& k = constraints_[uses_[u].constraint];
      const double load = uses_[u].amount * v.rate / k.rate;
      k.load += load;
      if (stretched && uses_[u].constraint == v.stretched_by) k.slope += load * k.steepness;
    }
  }
}

// Progressive filling: all classes rise with their weight until they meet their own limit or a capacity is full.
void Sharing::fill() {
  for (Constraint& k : constraints_) {
    k.free = k.rate;
    k.rising_weight = k.summed_weight = k.weight;
    k.rising = k.users;
  }
  for (Variable& v : variables_) {
    v.rate = v.present ? v.limit : 0;
    v.level = v.limit / v.weight;
    v.rising = v.present;
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
        if (user.rising) freeze(user, user.weight * level);
      }
    }
  }
}

void Sharing::freeze(Variable& v, double rate) {
  v.rising = false;
  v.rate = rate;
  for (std::uint32_t u = v.first_use; u < v.last_use; ++u) {
    Constraint& k = constraints_[uses_[u].constraint];
    k.free = std::max(0.0, k.free - uses_[u].amount * rate);
    k.rising_weight -= uses_[u].amount * v.weight;
    --k.rising;
  }
}

double Sharing::full_level(const Constraint*& full) {
  double level = std::numeric_limits<double>::infinity();
  for (Constraint& k : constraints_) {
    if (k.rising == 0) continue;
    if (k.rising_weight < 1e-4 * k.summed_weight) {  // what a subtraction leaves of a large sum is noise: sum again
      k.rising_weight = 0;
      for (std::uint32_t u = k.first_user; u < k.last_user; ++u) {
        const Variable& v = variables_[users_[u].variable];
        if (v.rising) k.rising_weight += uses_[users_[u].use].amount * v.weight;
      }
      k.summed_weight = k.rising_weight;
    }
    if (k.free < level * k.rising_weight) {
      level = k.free / k.rising_weight;
      full = &k;
    }
  }
  return level;
}

void Sharing::retime(ClassId id) {
  Class& c = classes_[id];
  drop_stale(c);
  if (c.heap.empty()) {
    if (c.timer != Calendar::none) loop_.calendar().cancel(c.timer);
    c.timer = Calendar::none;
    return;
  }
  MOIRE_INVARIANT(c.rate > 0, "a class with members does not progress");
  // Rounded up to the next picosecond, but not for what is only rounding of the clock.
  const double rest = std::max(0.0, c.heap.front().finish - c.virtual_clock - slack(c)) / c.rate * 1e12;
  MOIRE_INVARIANT(rest < 9e18 - static_cast<double>(loop_.now().ps), "an activity would end after 2^63 ps");
  const Time at = loop_.now() + Time{static_cast<std::int64_t>(std::ceil(rest))};
  if (c.timer == Calendar::none) {
    c.timer = loop_.calendar().schedule(at, *this, id, component_);
  } else if (c.due != at) {
    loop_.calendar().reschedule(c.timer, at);
  }
  c.due = at;
}

std::vector<double> Sharing::served() const {
  std::vector<double> units(capacities_.size(), 0);
  for (const Class& c : classes_) {
    for (const Demand& demand : c.spec.demands) units[demand.capacity] += demand.per_work * c.progressed;
  }
  return units;
}

double Sharing::served(CapacityId id) const {
  double units = 0;
  for (const Class& c : classes_) {
    for (const Demand& demand : c.spec.demands) {
      if (demand.capacity == id) units += demand.per_work * c.progressed;
    }
  }
  return units;
}

void Sharing::check_conservation() const {
  for (std::size_t id = 0; id < classes_.size(); ++id) {
    const Class& c = classes_[id];
    double rest = 0;
    for (const Member& m : c.heap) {
      if (c.members > 0 && !stale(m)) rest += m.finish - c.virtual_clock;
    }
    MOIRE_INVARIANT(
        std::abs(c.started - c.progressed - rest) <= 1e-6 * std::max(1.0, c.started),
        fmt::format("class {} took on {} units of work, did {} and has {} left", id, c.started, c.progressed, rest));
  }
}

}  // namespace moire::core
