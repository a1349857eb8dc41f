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

namespace moire::core {

using CapacityId = std::uint32_t;
using ClassId = std::uint32_t;
using ActivityId = std::uint32_t;
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

struct ClassSpec {
  std::vector<Demand> demands;
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

  void settle() override;
  void fire(std::uint64_t class_id) override;
  void observe(SharingObserver* observer) { observer_ = observer; }

  // --- Figures ------------------------------------------------------------------------------------------------
  const CapacitySpec& capacity(CapacityId id) const { return capacities_[id].spec; }
  std::size_t capacities() const { return capacities_.size(); }
  std::size_t classes() const { return classes_.size(); }
  double rate_of(ClassId id) const { return classes_[id].rate; }  // of one member, work per second
  std::uint32_t members(ClassId id) const { return classes_[id].members; }
  double load(CapacityId id) const { return capacities_[id].used; }  // units per second now
  double served(CapacityId id) const;                                // units until now, from completed progress
  std::vector<double> served() const;                                // the same of all capacities, in one pass
  std::uint64_t solves() const { return solves_; }
  // Work given out must equal work progressed: throws InvariantError where a class lost or invented work.
  void check_conservation() const;

 private:
  struct Member {
    double finish;  // on the class's virtual clock
    std::uint64_t sequence;
    ActivityId activity;
  };
  struct Class {
    ClassSpec spec;
    double rate = 0;
    double virtual_clock = 0;  // work each member has done since the clock was last reset
    Time updated;
    std::uint32_t members = 0;
    std::uint32_t solved_members = 0;
    Calendar::EventId timer = Calendar::none;
    Time due;  // what the timer is set to
    bool dirty = false;
    bool listed = false;          // among its capacities' active classes
    std::uint64_t mark = 0;       // the collection that found it last
    std::uint64_t solved_at = 0;  // the settlement that solved it last
    std::vector<Member> heap;
    double started = 0;     // work taken on, less work moved away
    double progressed = 0;  // rate x members x time
  };
  struct Capacity {
    CapacitySpec spec;
    std::vector<ClassId> active;
    std::uint64_t mark = 0;
    double used = 0;
    std::uint32_t place = 0;  // in the component being solved
  };
  struct Activity {
    ClassId in = no_id;
    std::uint64_t sequence = 0;
    EventSink* sink = nullptr;
    std::uint64_t payload = 0;
    double finish = 0;
  };

  // The component being solved, copied out of the classes: the solver's loops then run over a few cache lines.
  struct Variable {
    double weight = 0;
    double bound = 0;
    double window = 0;
    double latency = 0;
    double delay = 0;
    double curvature = 0;  // delay x weight / window: rate = weight x level / (1 + curvature x level)
    bool in_turn = false;
    std::uint32_t stretched_by = no_id;  // the constraint whose load stretches the latency
    std::uint32_t first_use = 0;
    std::uint32_t last_use = 0;
    double limit = 0;  // the least of bound and window / latency
    double level = 0;  // at which the limit is reached
    double rate = 0;
    bool present = false;
    bool rising = false;
  };
  struct Use {
    std::uint32_t constraint;
    double per_work;
    double amount;  // units of the capacity per unit of member rate: per_work x members
  };
  struct User {
    std::uint32_t variable;
    std::uint32_t use;
  };
  struct Constraint {
    double rate = 0;
    double free = 0;
    double weight = 0;         // of all users
    double rising_weight = 0;  // of the users that still rise
    double summed_weight = 0;  // the sum that rising_weight was subtracted from
    std::uint32_t rising = 0;
    std::uint32_t users = 0;
    double most = 0;         // what its users take at their limits
    bool contended = false;  // that is more than it has
    double full_at = 0;      // level at which it was last found to be full; that only rises
    bool changed = false;    // a user stopped since
    bool curved = false;     // a user has a curvature
    bool alike = true;       // and all of them have this one
    double curvature = 0;
    std::uint32_t first_user = 0;
    std::uint32_t last_user = 0;
    // The fixed point of the loaded latency; loads as a part of `rate`.
    double growth = 0;
    double exponent = 1;
    double assumed = 0;
    double change = 0;  // load - assumed, of the round before
    double damping = 1;
    double stretch = 1;
    double steepness = 0;  // d log(stretch) / d load
    double load = 0;
    double slope = 0;  // - d load / d assumed load
  };

  static bool later(const Member& a, const Member& b) {
    return a.finish != b.finish ? a.finish > b.finish : a.sequence > b.sequence;
  }
  static double slack(const Class& c) { return 1e-15 * (c.rate + c.virtual_clock); }
  bool stale(const Member& m) const { return activities_[m.activity].sequence != m.sequence; }
  void advance(Class& c);
  void enter(Class& c, ClassId id, ActivityId activity, double work);
  void mark_dirty(ClassId id);
  void drop_stale(Class& c);
  void retime(ClassId id);
  void list(ClassId id);
  void unlist(ClassId id);
  void collect_component(ClassId seed);
  void weigh();
  void solve_component();
  void find_loads();
  void sum_loads();
  void fill();
  bool find_contended();
  void freeze(Variable& v, double rate);
  double level_when_full(const Constraint& k, double level) const;
  double full_level(const Constraint*& full);

  RunLoop& loop_;
  std::uint32_t component_;
  SharingObserver* observer_ = nullptr;
  std::vector<Capacity> capacities_;
  std::vector<Class> classes_;
  std::vector<Activity> activities_;
  std::vector<ActivityId> free_activities_;
  std::vector<ClassId> dirty_;
  std::uint64_t sequence_ = 0;
  std::uint64_t settlement_ = 0;
  std::uint64_t mark_ = 0;
  bool collected_ = false;  // the component below is still what collection number mark_ found
  std::uint64_t solves_ = 0;
  // The component being solved; it outlives the solve because the next change usually hits the same one.
  std::vector<ClassId> component_classes_;
  std::vector<CapacityId> component_capacities_;
  std::vector<Variable> variables_;
  std::vector<Use> uses_;
  std::vector<Constraint> constraints_;
  std::vector<User> users_;
  std::vector<std::uint32_t> order_;      // variables by level
  std::vector<std::uint32_t> contended_;  // constraints
  bool loaded_latency_ = false;
};

}  // namespace moire::core
