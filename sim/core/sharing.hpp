// Weighted max-min sharing of capacities among classes of activities.
//
// An activity (a workgroup in a phase, a DMA copy) demands several capacities at once and advances at one rate. That
// rate is the largest that respects
//   - its bound: what its compute unit or engine can do, whatever the load;
//   - its window: window / (latency + delay) (Little's law), where the latency grows with the load of one capacity and
//     the delay, what the activity itself does between two round trips, does not;
//   - weighted max-min fairness on every capacity it demands, with weight = bytes in flight. Of an activity with a
//     delay nothing is in flight during it, so it counts for less the shorter the latency is.
// Activities that are alike form a class: the solver sees one variable with the class's total weight, and every
// member ends at its own point of the class's virtual clock. The cost of a change follows the number of classes that
// are connected to it through capacities, not the number of activities.
//
// A change takes effect at the end of its instant: if one member ends and another starts in the same picosecond,
// nothing is solved again.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "sim/core/run_loop.hpp"
#include "sim/core/share_component.hpp"

namespace moire::core {

using CapacityId = std::uint32_t;
using ClassId = std::uint32_t;
using ActivityId = std::uint32_t;
using MeterId = std::uint32_t;
inline constexpr std::uint32_t no_id = UINT32_MAX;

struct CapacitySpec {
  std::string name;
  double rate = 0;  // units per second, > 0
  // Latency through this capacity grows to unloaded x (1 + growth x u^exponent), u = load / rate.
  double latency_growth = 0;
  double latency_exponent = 1;
};

struct Demand {
  CapacityId capacity = no_id;
  double per_work = 0;  // units of the capacity that one unit of work takes, > 0
};

// What a unit of work adds to a meter.
struct Metered {
  MeterId meter = no_id;
  double per_work = 0;
};

struct ClassSpec {
  std::vector<Demand> demands;
  std::vector<Metered> metered{};
  double weight = 0;                                       // > 0 if there are demands
  double bound = std::numeric_limits<double>::infinity();  // work per second of one member
  double window = 0;                                       // work in flight of one member; 0: not bound by latency
  double latency = 0;                                      // seconds, unloaded
  double delay = 0;  // seconds a window takes beside the latency, whatever the load; only with a window
  CapacityId latency_capacity = no_id;  // the capacity whose load stretches the latency
  // What the bound stands for and the latency take turns as often as they overlap: the rate is
  // (bound^-4 + (window / (latency + delay))^-4)^-1/4, not the smaller of the two. Only with both.
  bool in_turn = false;
};

// What observers of the sharing see after each solve.
class SharingObserver {
 public:
  virtual ~SharingObserver() = default;
  virtual void capacity_load(CapacityId capacity, Time now, double units_per_second) = 0;
  virtual void meter_level(MeterId /*meter*/, Time /*now*/, double /*units_per_second*/) {}
};

class Sharing final : public Settler, public EventSink {
 public:
  // `component` is the tie-break number of this domain's events.
  explicit Sharing(RunLoop& loop, std::uint32_t component = 0);
  Sharing(const Sharing&) = delete;
  Sharing& operator=(const Sharing&) = delete;

  CapacityId add_capacity(CapacitySpec spec);
  ClassId add_class(ClassSpec spec);

  // Starts an activity of `work` units; when it has done them, sink.fire(payload). The activity id is then free.
  ActivityId start(ClassId into, double work, EventSink& sink, std::uint64_t payload);
  // Continues the rest of an activity's work in another class (its compute unit got fuller or emptier).
  void move(ActivityId activity, ClassId into);

  // A meter counts what activities do and limits nobody (energy): its level is what they add a second, with what
  // add_level puts there by itself. `full` is what observers hold the level against.
  struct MeterSpec {
    std::string name;
    double full = 0;
  };
  MeterId add_meter(MeterSpec spec);
  void add_level(MeterId meter, double units_per_second);
  const MeterSpec& meter(MeterId id) const { return meters_[id].spec; }
  double level(MeterId id) const { return meters_[id].level; }
  double counted(MeterId id) const;                                       // units until now
  double highest_level(MeterId id) const { return meters_[id].highest; }  // at the end of any instant

  void settle() override;
  void fire(std::uint64_t class_id) override;
  void fires_next(std::uint64_t class_id) const override;
  void observe(SharingObserver* observer) { observer_ = observer; }

  // --- Figures ------------------------------------------------------------------------------------------------
  const CapacitySpec& capacity(CapacityId id) const { return capacities_[id].spec; }
  std::size_t capacities() const { return capacities_.size(); }
  std::size_t classes() const { return classes_.size(); }
  double rate_of(ClassId id) const { return classes_[id].rate; }  // of one member, work per second
  std::uint32_t members(ClassId id) const { return classes_[id].members; }
  double load(CapacityId id) const { return capacities_[id].used; }  // units per second now
  const ClassSpec& spec(ClassId id) const { return classes_[id].spec; }
  double done(ClassId id) const { return classes_[id].progressed; }  // work of all its members until now
  // Counts as served what was worked out elsewhere.
  void serve(CapacityId id, double units) { capacities_[id].elsewhere += units; }
  double served(CapacityId id) const;  // units until now, from completed progress
  std::vector<double> served() const;  // the same of all capacities, in one pass
  std::uint64_t solves() const { return solves_; }
  // Work given out must equal work progressed: throws InvariantError where a class lost or invented work.
  void check_conservation() const;

 private:
  struct Member {
    double finish;  // on the class's virtual clock
    std::uint64_t sequence;
    ActivityId activity;
  };
  struct alignas(64) Class {
    double rate = 0;
    double virtual_clock = 0;  // work each member has done since the clock was last reset
    Time updated;
    std::uint32_t members = 0;
    std::uint32_t solved_members = 0;
    Calendar::EventId timer = Calendar::none;
    Time due;  // what the timer is set to
    bool dirty = false;
    bool listed = false;  // among its capacities' active classes; one without members may be, until they are collected
    std::uint64_t mark = 0;           // the collection that found it last
    std::uint32_t component = no_id;  // that has it as its variable number `place`
    std::uint32_t place = 0;
    std::vector<Member> heap;
    double started = 0;     // work taken on, less work moved away
    double progressed = 0;  // rate x members x time
    double on_meters = 0;   // work per second that its meters know of
    ClassSpec spec;         // behind what events touch
  };
  struct Capacity {
    CapacitySpec spec;
    std::vector<ClassId> active;
    std::uint64_t mark = 0;
    double used = 0;
    double elsewhere = 0;             // served by what was not simulated here
    std::uint32_t component = no_id;  // that has it as its constraint number `place`
    std::uint32_t place = 0;
  };
  struct Meter {
    MeterSpec spec{};
    double level = 0;
    double highest = 0;
    double counted = 0;  // until `since`
    Time since{};
    bool changed = false;
  };
  struct Activity {
    ClassId in = no_id;
    std::uint64_t sequence = 0;
    EventSink* sink = nullptr;
    std::uint64_t payload = 0;
    double finish = 0;
  };

  // Classes and capacities by their numbers in the solver.
  struct Component {
    ShareComponent solver;
    std::vector<ClassId> classes;
    std::vector<CapacityId> capacities;
    std::vector<ClassId> dirty;  // of its classes, in this settlement
    bool fresh = true;           // not solved yet
  };

  static bool later(const Member& a, const Member& b) {
    return a.finish != b.finish ? a.finish > b.finish : a.sequence > b.sequence;
  }
  static double slack(const Class& c) { return 1e-15 * (c.rate + c.virtual_clock); }
  // Nobody who moved away is among the members that it remembers.
  static bool all_are_there(const Class& c) { return c.heap.size() == c.members; }
  bool stale(const Member& m) const { return activities_[m.activity].sequence != m.sequence; }
  void advance(Class& c);
  void enter(Class& c, ClassId id, ActivityId activity, double work);
  void mark_dirty(ClassId id);
  void drop_stale(Class& c);
  void retime(ClassId id);
  void list(ClassId id);
  void unlist(ClassId id);
  void collect(ClassId seed);
  void copy_into_solver(std::uint32_t component);
  void dissolve(std::uint32_t component);
  void solve(std::uint32_t component);
  void set_meters(Class& c);
  void settle_meters();

  RunLoop& loop_;
  std::uint32_t component_;
  SharingObserver* observer_ = nullptr;
  std::vector<Capacity> capacities_;
  std::vector<Class> classes_;
  std::vector<Activity> activities_;
  std::vector<ActivityId> free_activities_;
  std::vector<ClassId> dirty_;
  std::uint64_t sequence_ = 0;
  std::uint64_t mark_ = 0;
  std::uint64_t solves_ = 0;
  std::vector<Component> components_;  // kept until their classes are others
  std::vector<std::uint32_t> free_components_;
  std::vector<ClassId> empty_, changed_;  // scratch
  std::vector<CapacityId> changed_loads_;
  std::vector<Meter> meters_;
  std::vector<MeterId> changed_meters_;
};

}  // namespace moire::core
