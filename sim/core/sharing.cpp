#include "sim/core/sharing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/core/invariant.hpp"

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
  MOIRE_INVARIANT(spec.delay >= 0 && (spec.delay == 0 || spec.window > 0), "a delay needs a window");
  MOIRE_INVARIANT(!spec.in_turn || (std::isfinite(spec.bound) && spec.window > 0), "in turn needs bound and window");
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
  const Time at = loop_.now() + Time::from_ps(std::ceil(rest));
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
