// Over 400 lines: joining, leaving and settling share the state of one instant.
#include "sim/core/sharing.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>

#include "sim/core/invariant.hpp"

namespace moire::core {

namespace {
constexpr std::size_t ahead = 2;  // prefetch distance of settle(), in classes

}  // namespace

Sharing::Sharing(RunLoop& loop, std::uint32_t component, bool remembers)
    : loop_(loop), component_(component), memo_(remembers) {
  loop.add(*this);
}

CapacityId Sharing::add_capacity(CapacitySpec spec) {
  MOIRE_INVARIANT(spec.rate > 0 && std::isfinite(spec.rate), "a capacity needs a positive rate: " + spec.name);
  MOIRE_INVARIANT(spec.latency_growth >= 0 && spec.latency_exponent > 0, "latency falls with load: " + spec.name);
  capacities_.push_back({});
  capacities_.back().kind = kind({spec.rate, spec.latency_growth, spec.latency_exponent});
  capacities_.back().spec = std::move(spec);
  return static_cast<CapacityId>(capacities_.size() - 1);
}

ClassId Sharing::add_class(ClassSpec spec) {
  spec = merged(std::move(spec));
  classes_.emplace_back();
  classes_.back().kind = kind_of(spec);
  classes_.back().spec = std::move(spec);
  return static_cast<ClassId>(classes_.size() - 1);
}

void Sharing::change_class(ClassId id, ClassSpec spec) {
  Class& c = classes_[id];
  spec = merged(std::move(spec));
  MOIRE_INVARIANT(spec.demands == c.spec.demands, "a class changed its demands");
  advance(c);
  change_meters(c, spec);
  c.kind = kind_of(spec);
  c.spec = std::move(spec);
  c.changed = true;
  if (c.component != no_id) components_[c.component].outdated = true;
  if (c.members > 0) mark_dirty(id);
}

// Checks the numbers of a class, and returns them with one demand for each capacity.
ClassSpec Sharing::merged(ClassSpec spec) const {
  MOIRE_INVARIANT(spec.demands.empty() || spec.weight > 0, "a class that demands capacities needs a weight");
  MOIRE_INVARIANT(spec.bound > 0, "a class needs a positive bound");
  MOIRE_INVARIANT(!spec.demands.empty() || std::isfinite(spec.bound) || spec.window > 0, "a class has no bound at all");
  MOIRE_INVARIANT(spec.window <= 0 || spec.latency > 0, "a window needs a latency");
  MOIRE_INVARIANT(spec.delay >= 0 && (spec.delay == 0 || spec.window > 0), "a delay needs a window");
  MOIRE_INVARIANT(!spec.in_turn || (std::isfinite(spec.bound) && spec.window > 0), "in turn needs bound and window");
  std::vector<Demand> merged;  // a copy within one memory names that memory twice
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
    // The class takes nothing from this capacity, but its rate must be solved again when the capacity's load changes.
    if (!demanded && spec.window > 0 && capacities_[k].spec.latency_growth > 0) merged.push_back({k, 0});
  }
  spec.demands = std::move(merged);
  return spec;
}

std::uint32_t Sharing::kind_of(const ClassSpec& spec) {
  std::vector<double> numbers{spec.weight, spec.bound, spec.window, spec.latency, spec.delay, spec.in_turn ? 1.0 : 0.0};
  for (const Demand& demand : spec.demands) numbers.push_back(demand.per_work);
  return kind(std::move(numbers));
}

std::uint32_t Sharing::kind(std::vector<double> numbers) {
  return kinds_.try_emplace(std::move(numbers), static_cast<std::uint32_t>(kinds_.size())).first->second;
}

double Sharing::load(CapacityId id) const {
  const Capacity& capacity = capacities_[id];
  if (capacity.component == no_id) return capacity.used;
  return components_[capacity.component].state->load(capacity.place) * capacity.spec.rate;
}

// Returns the capacity whose load stretches the latency of a class, or no_id if no load does.
CapacityId Sharing::stretched_by(const ClassSpec& spec) const {
  const CapacityId by = spec.latency_capacity;
  return spec.window > 0 && by != no_id && capacities_[by].spec.latency_growth > 0 ? by : no_id;
}

ActivityId Sharing::start(ClassId into, double work, EventSink& sink, std::uint64_t payload) {
  MOIRE_INVARIANT(work >= 0 && std::isfinite(work), "an activity needs a finite amount of work");
  ActivityId id;
  if (free_activities_.empty()) {
    id = static_cast<ActivityId>(activities_.size());
    MOIRE_INVARIANT(id < bundle_flag, "too many activities run at the same time");
    activities_.emplace_back();
  } else {
    id = free_activities_.back();
    free_activities_.pop_back();
  }
  activities_[id].sink = &sink;
  activities_[id].payload = payload;
  enter(id, into, work);
  return id;
}

void Sharing::move(ActivityId id, ClassId into) {
  if (activities_[id].in != into) enter(id, into, leave(id));
}

// Returns the rest of the activity's work.
double Sharing::leave(ActivityId id) {
  Activity& activity = activities_[id];
  MOIRE_INVARIANT(activity.in != no_id, "an activity was moved that has ended or is in a bundle");
  Class& from = classes_[activity.in];
  advance(from);
  const double ahead = activity.finish - from.virtual_clock;
  const double rest = std::max(0.0, ahead);
  from.progressed += std::min(0.0, ahead);  // if the activity was due now: deducts what it did beyond its work
  ++activity.version;
  lose_members(from, activity.in, 1, rest);
  return rest;
}

void Sharing::enter(ActivityId id, ClassId into, double work) {
  Class& c = classes_[into];
  Activity& activity = activities_[id];
  take_members(c, into, 1, work);
  ++c.entries;
  activity.in = into;
  activity.finish = c.virtual_clock + work;
  push(c, {activity.finish, sequence_++, id, activity.version});
}

BundleId Sharing::add_bundle(ClassId in) {
  bundles_.emplace_back().in = in;
  return static_cast<BundleId>(bundles_.size() - 1);
}

void Sharing::join(ActivityId activity, BundleId id) {
  const double rest = leave(activity);
  activities_[activity].in = no_id;
  Bundle& bundle = bundles_[id];
  Class& c = classes_[bundle.in];
  take_members(c, bundle.in, 1, rest);
  if (bundle.due_members.empty()) {
    bundle.ahead = -c.virtual_clock;  // the bundle's clock starts at zero
    ++c.entries;
  }
  const Member member{c.virtual_clock + bundle.ahead + rest, sequence_++, activity, 0};
  bundle.finishes += member.finish;
  bundle.due_members.push(member);
  if (bundle.due_members.front().id == activity) push(c, id);
}

void Sharing::move_bundle(BundleId id, ClassId into) {
  Bundle& bundle = bundles_[id];
  if (bundle.in == into) return;
  if (bundle.due_members.empty()) {
    bundle.in = into;
    return;
  }
  Class& from = classes_[bundle.in];
  advance(from);
  const double clock = from.virtual_clock + bundle.ahead;
  const auto count = static_cast<std::uint32_t>(bundle.due_members.size());
  const double rest = bundle.finishes - count * clock;  // members that are due now contribute their overshoot, too
  ++bundle.version;
  lose_members(from, bundle.in, count, rest);
  Class& to = classes_[into];
  take_members(to, into, count, rest);
  bundle.in = into;
  bundle.ahead = clock - to.virtual_clock;
  ++to.entries;
  push(to, id);
}

// Removes `count` members from a class, which are one entry of due_members. The entry is stale from now on; if the
// class has many entries, it stays in due_members.
void Sharing::lose_members(Class& c, ClassId id, std::uint32_t count, double work) {
  constexpr std::size_t few = 8;
  c.started -= work;
  c.members -= count;
  --c.entries;
  if (c.due_members.size() <= few) c.due_members.erase_if([&](const Member& m) { return stale(m); });
  mark_dirty(id);
}

// Adds `count` members with `work` units together to a class. The caller adds the entry of due_members.
void Sharing::take_members(Class& c, ClassId id, std::uint32_t count, double work) {
  advance(c);
  if (c.members == 0) {
    c.due_members.clear();
    c.virtual_clock = 0;  // no member refers to the old value, and small values have small rounding errors
  }
  c.started += work;
  c.members += count;
  mark_dirty(id);
}

void Sharing::push(Class& c, const Member& entry) {
  c.due_members.push(entry);
  if (c.due_members.size() > 2 * std::size_t{c.entries} + 32)  // mostly stale entries
    c.due_members.erase_if([&](const Member& m) { return stale(m); });
}

// Adds the entry of a bundle to the class. An older entry becomes stale.
void Sharing::push(Class& c, BundleId id) {
  Bundle& bundle = bundles_[id];
  const Member& first = bundle.due_members.front();
  push(c, {first.finish - bundle.ahead, first.sequence, bundle_flag | id, ++bundle.version});
}

// Removes the first member from a bundle whose entry was just removed from its class.
ActivityId Sharing::take_first(Class& c, BundleId id) {
  Bundle& bundle = bundles_[id];
  const Member first = bundle.due_members.front();
  bundle.due_members.pop();
  bundle.finishes -= first.finish;
  if (bundle.due_members.empty()) {
    bundle.finishes = 0;
    --c.entries;
  } else {
    push(c, id);
  }
  return first.id;
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

void Sharing::fires_next(std::uint64_t class_id) const {
  const Class& c = classes_[static_cast<ClassId>(class_id)];
  __builtin_prefetch(&c);
  __builtin_prefetch(reinterpret_cast<const char*>(&c) + 64);
}

void Sharing::drop_stale(Class& c) {
  if (all_are_there(c)) return;
  while (!c.due_members.empty() && stale(c.due_members.front())) c.due_members.pop();
}

void Sharing::fire(std::uint64_t class_id) {
  const auto id = static_cast<ClassId>(class_id);
  classes_[id].timer = Calendar::none;
  advance(classes_[id]);
  mark_dirty(id);
  while (true) {
    Class& c = classes_[id];  // look it up again: a sink may have added classes, which moves this one in memory
    drop_stale(c);
    // The time of the timer was rounded. Twice the slack is allowed, because otherwise a member could wait for ever.
    if (c.due_members.empty() || c.due_members.front().finish > c.virtual_clock + 2 * slack(c)) break;
    const Member first = c.due_members.front();
    c.due_members.pop();
    --c.members;
    c.progressed += first.finish - c.virtual_clock;  // deducts the progress after its end, which was rounded up
    ActivityId done = first.id;
    if (first.id & bundle_flag) {
      done = take_first(c, first.id & ~bundle_flag);
    } else {
      --c.entries;
    }
    const Activity activity = activities_[done];
    activities_[done].in = no_id;
    free_activities_.push_back(done);
    activity.sink->fire(activity.payload);
  }
}

void Sharing::settle() {
  if (dirty_.empty()) return settle_meters();
  std::sort(dirty_.begin(), dirty_.end());
  for (std::size_t i = 0; i < dirty_.size(); ++i) {
    if (i + ahead < dirty_.size()) fires_next(dirty_[i + ahead]);
    const ClassId id = dirty_[i];
    Class& c = classes_[id];
    advance(c);
    if (c.members > 0 && !c.listed) list(id);
  }
  for (const ClassId id : dirty_) {
    if (const std::uint32_t known = classes_[id].component; known != no_id) components_[known].dirty.push_back(id);
  }
  for (const ClassId id : dirty_) {
    Class& c = classes_[id];
    if (!c.dirty) continue;  // already solved with another class
    if (c.members == c.solved_members && !c.changed) {
      retime(id);  // the rate is still right; but another member may be the next to end
      c.dirty = false;
      continue;
    }
    if (c.component == no_id) collect(id);
    solve(c.component);
  }
  for (const ClassId id : dirty_) {
    if (const std::uint32_t known = classes_[id].component; known != no_id) components_[known].dirty.clear();
  }
  dirty_.clear();
  settle_meters();
}

// Adds the class to the lists of its capacities. The components of these capacities merge from now on, so they are
// dissolved, and collect() builds one new component.
void Sharing::list(ClassId id) {
  classes_[id].listed = true;
  for (const Demand& demand : classes_[id].spec.demands) {
    Capacity& capacity = capacities_[demand.capacity];
    capacity.active.insert(std::lower_bound(capacity.active.begin(), capacity.active.end(), id), id);
    if (capacity.component != no_id) dissolve(capacity.component);
  }
}

void Sharing::unlist(ClassId id) {
  Class& c = classes_[id];
  c.listed = false;
  c.rate = 0;
  c.solved_members = 0;
  for (const Demand& demand : c.spec.demands) {
    auto& active = capacities_[demand.capacity].active;
    active.erase(std::lower_bound(active.begin(), active.end(), id));
  }
}

void Sharing::dissolve(std::uint32_t number) {
  forget_solution(number);
  Component& component = components_[number];
  for (const ClassId id : component.classes) classes_[id].component = no_id;
  for (const CapacityId id : component.capacities) capacities_[id].component = no_id;
  component.dirty.clear();
  free_components_.push_back(number);
}

// Keeps only the loads of a component's solution.
void Sharing::forget_solution(std::uint32_t number) {
  Component& component = components_[number];
  for (const CapacityId id : component.capacities) capacities_[id].used = load(id);
  memo_.hold(component.state, nullptr);
  if (component.solver_is_in != 0) component.solver.clear();
  component.solver_is_in = 0;
}

// Builds the component of all classes with members that share a capacity with class `seed`, directly or through other
// classes.
void Sharing::collect(ClassId seed) {
  if (free_components_.empty()) {
    free_components_.push_back(static_cast<std::uint32_t>(components_.size()));
    components_.emplace_back();
  }
  const std::uint32_t number = free_components_.back();
  free_components_.pop_back();
  Component& component = components_[number];
  ++mark_;
  component.classes.assign(1, seed);
  component.capacities.clear();
  classes_[seed].mark = mark_;
  empty_.clear();
  for (std::size_t i = 0; i < component.classes.size(); ++i) {
    for (const Demand& demand : classes_[component.classes[i]].spec.demands) {
      Capacity& capacity = capacities_[demand.capacity];
      if (capacity.mark == mark_) continue;
      capacity.mark = mark_;
      component.capacities.push_back(demand.capacity);
      for (const ClassId neighbour : capacity.active) {
        if (classes_[neighbour].mark == mark_) continue;
        classes_[neighbour].mark = mark_;
        // A class that has just lost its last member still connects the capacities that it used until now.
        const Class& other = classes_[neighbour];
        (other.members + other.solved_members > 0 ? component.classes : empty_).push_back(neighbour);
      }
    }
  }
  for (const ClassId id : empty_) unlist(id);
  // The order of summation must not depend on which member changed first.
  std::sort(component.classes.begin(), component.classes.end());
  std::sort(component.capacities.begin(), component.capacities.end());
  find_start(number);
}

// Numbers the classes and capacities of a component. Sets the component's state to that of a component with the same
// structure, in which no class has members yet.
void Sharing::find_start(std::uint32_t number) {
  Component& component = components_[number];
  words_.assign(1, component.classes.size());
  guesses_.clear();
  for (const CapacityId id : component.capacities) {
    Capacity& capacity = capacities_[id];
    capacity.component = number;
    capacity.place = static_cast<std::uint32_t>(guesses_.size());
    words_.push_back(capacity.kind);
    guesses_.push_back(capacity.spec.latency_growth > 0 ? capacity.used / capacity.spec.rate : ShareMemo::flat);
  }
  for (std::uint32_t place = 0; place < component.classes.size(); ++place) {
    Class& c = classes_[component.classes[place]];
    c.component = number;
    c.place = place;
    const CapacityId by = stretched_by(c.spec);
    words_.push_back(std::uint64_t{c.kind} << 32 | (by == no_id ? no_id : capacities_[by].place));
    for (const Demand& demand : c.spec.demands) words_.push_back(capacities_[demand.capacity].place);
  }
  const auto variables = static_cast<std::uint32_t>(component.classes.size());
  memo_.hold(component.state, &memo_.start(memo_.structure(words_), variables, guesses_));
  component.dirty = component.classes;
  component.fresh = true;
  component.outdated = false;
}

void Sharing::build_solver(Component& component) const {
  ShareComponent& solver = component.solver;
  for (const CapacityId id : component.capacities) {
    const CapacitySpec& spec = capacities_[id].spec;
    solver.add_constraint(spec.rate, spec.latency_growth, spec.latency_exponent);
  }
  for (const ClassId id : component.classes) {
    const ClassSpec& spec = classes_[id].spec;
    solver.begin_variable(spec);
    for (const Demand& demand : spec.demands) {
      if (demand.per_work > 0) solver.add_use(capacities_[demand.capacity].place, demand.per_work);
    }
    if (const CapacityId by = stretched_by(spec); by != no_id) solver.stretched_by(capacities_[by].place);
  }
  solver.complete();
}

// Returns the step that follows from the changed numbers of members in a component. The step comes from the memo if the
// memo knows it, else from a solve.
const ShareMemo::Step& Sharing::next_step(Component& component) {
  words_.clear();
  for (const ClassId id : component.dirty) {
    const Class& c = classes_[id];
    if (component.state->members(c.place) != c.members) words_.push_back(ShareMemo::change(c.place, c.members));
  }
  if (const ShareMemo::Step* known = memo_.find(*component.state, words_)) return *known;
  if (component.solver_is_in == 0) build_solver(component);
  ShareComponent& solver = component.solver;
  if (component.solver_is_in != component.state->number) solver.restore(component.state->saved());
  solver.begin_change();
  for (const ClassId id : component.dirty) {
    const Class& c = classes_[id];
    if (solver.members(c.place) != c.members) solver.set_members(c.place, c.members);
  }
  solver.solve();
  const ShareMemo::Step& step = memo_.add(*component.state, words_, solver);
  component.solver_is_in = step.number;
  return step;
}

void Sharing::solve(std::uint32_t number) {
  ++solves_;
  Component& component = components_[number];
  if (component.outdated) {
    forget_solution(number);
    find_start(number);
  }
  const ShareMemo::Step& step = next_step(component);
  const ShareMemo::State& state = *step.to;
  memo_.hold(component.state, step.to);
  changed_loads_.clear();
  const bool told = observer_ != nullptr || watches_;
  if (component.fresh && told) changed_loads_ = component.capacities;  // also those without load
  if (!component.fresh && told) {
    for (const std::uint32_t place : step.loads) changed_loads_.push_back(component.capacities[place]);
  }
  new_rates_.clear();
  for (const std::uint32_t place : step.rates) {
    new_rates_.push_back(component.classes[place]);
    fires_next(new_rates_.back());
  }
  changed_.clear();
  std::set_union(component.dirty.begin(), component.dirty.end(), new_rates_.begin(), new_rates_.end(),
                 std::back_inserter(changed_));
  for (std::size_t i = 0; i < changed_.size(); ++i) {
    const ClassId id = changed_[i];
    Class& c = classes_[id];
    c.solved_members = c.members;
    c.changed = false;
    const double rate = state.rate(c.place);
    if (c.rate == rate && !c.dirty) continue;  // the timer of the class is still right
    advance(c);
    c.rate = rate;
    set_meters(c);
    retime(id);
    c.dirty = false;
  }
  component.dirty.clear();
  component.fresh = false;
  for (const CapacityId id : changed_loads_) {
    if (capacities_[id].history) capacities_[id].history->change(loop_.now(), load(id));
  }
  if (observer_ != nullptr) {
    std::sort(changed_loads_.begin(), changed_loads_.end());
    for (const CapacityId id : changed_loads_) observer_->capacity_load(id, loop_.now(), load(id));
  }
  // If most classes of the component have no members, it is dissolved. The next change collects it without these
  // classes.
  constexpr std::uint32_t few = 16;
  if (state.variables > few + 3 * state.present) dissolve(number);
}

void Sharing::retime(ClassId id) {
  Class& c = classes_[id];
  drop_stale(c);
  if (c.due_members.empty()) {
    c.due_members.release();
    if (c.timer != Calendar::none) loop_.calendar().cancel(c.timer);
    c.timer = Calendar::none;
    return;
  }
  MOIRE_INVARIANT(c.rate > 0, "a class with members does not progress");
  // The time is rounded up to a whole picosecond, after the rounding error of the virtual clock has been deducted.
  const double rest = std::max(0.0, c.due_members.front().finish - c.virtual_clock - slack(c)) / c.rate * 1e12;
  const Time at = loop_.now() + Time::from_ps(std::ceil(rest));
  if (c.timer == Calendar::none) {
    c.timer = loop_.calendar().schedule(at, *this, id, component_);
  } else if (c.due != at) {
    loop_.calendar().reschedule(c.timer, at);
  }
  c.due = at;
}

}  // namespace moire::core
