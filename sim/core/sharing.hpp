// Shares capacities among classes of activities, weighted max-min fairly.
//
// An activity (a workgroup in a phase, a DMA copy) demands several capacities at once and advances at one rate. This
// rate is the largest that respects
//   - its bound: what its compute unit or engine can do, whatever the load;
//   - its window, which is the amount of work that it keeps in flight: the rate is at most window / (latency + delay)
//     (Little's law). The latency grows with the load of one capacity. The delay, which the activity spends on its own
//     between two round trips, does not depend on load;
//   - weighted max-min fairness on every capacity it demands, with weight = bytes in flight. During its delay an
//     activity has nothing in flight, so its effective weight shrinks as the latency gets shorter.
// Identical activities form a class, which is one variable with the total weight for the solver. The virtual clock of a
// class is the work that each member has done, and every member ends at its own value of this clock. The cost of a
// change grows with the number of classes that are connected to it through capacities, not with the number of
// activities. Members that always move to another class together form a bundle, whose move costs the same for any
// number of members.
//
// A change takes effect at the end of its picosecond: if one member of a class ends and another starts in the same
// picosecond, nothing is solved again.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/core/due.hpp"
#include "sim/core/load_history.hpp"
#include "sim/core/run_loop.hpp"
#include "sim/core/share_component.hpp"
#include "sim/core/share_memo.hpp"

namespace moire::core {

using CapacityId = std::uint32_t;
using ClassId = std::uint32_t;
using ActivityId = std::uint32_t;
using BundleId = std::uint32_t;
using MeterId = std::uint32_t;
inline constexpr std::uint32_t no_id = UINT32_MAX;

struct CapacitySpec {
  std::string name;
  double rate = 0;  // units per second, > 0
  // The latency through this capacity is the unloaded latency x (1 + latency_growth x u^latency_exponent), with
  // u = load / rate.
  double latency_growth = 0;
  double latency_exponent = 1;
};

struct Demand {
  CapacityId capacity = no_id;
  double per_work = 0;  // units of the capacity per unit of work, > 0
  bool operator==(const Demand&) const = default;
};

// A unit of work adds `per_work` units to a meter.
struct Metered {
  MeterId meter = no_id;
  double per_work = 0;
  bool operator==(const Metered&) const = default;
};

struct ClassSpec {
  std::vector<Demand> demands;
  std::vector<Metered> metered{};
  double weight = 0;                                       // of one member; > 0 if there are demands
  double bound = std::numeric_limits<double>::infinity();  // of one member, work per second
  double window = 0;                                       // work in flight per member; 0: not limited by latency
  double latency = 0;                                      // unloaded, in seconds
  double delay = 0;  // seconds per window besides the latency, independent of load; requires a window
  CapacityId latency_capacity = no_id;  // the capacity whose load stretches the latency
  // The work at the bound and the round trip partly exclude each other in time: the rate is (bound^-4 + (window /
  // (latency + delay))^-4)^-1/4 instead of the smaller of the two. Requires a bound and a window.
  bool in_turn = false;
};

// Gets the loads of capacities after each solve, and the levels of meters at the end of each instant (picosecond) in
// which they changed.
class SharingObserver {
 public:
  virtual ~SharingObserver() = default;
  virtual void capacity_load(CapacityId capacity, Time now, double units_per_second) = 0;
  virtual void meter_level(MeterId /*meter*/, Time /*now*/, double /*units_per_second*/) {}
};

class Sharing final : public Settler, public EventSink {
 public:
  // `component` breaks ties between events of different components at the same time. If `remembers` is false, no
  // earlier solution is reused (share_memo.hpp); the results are the same.
  explicit Sharing(RunLoop& loop, std::uint32_t component = 0, bool remembers = true);
  Sharing(const Sharing&) = delete;
  Sharing& operator=(const Sharing&) = delete;

  CapacityId add_capacity(CapacitySpec spec);
  ClassId add_class(ClassSpec spec);
  // Gives a class other numbers from now on, for example because the clock of its GPU has changed. This costs the same
  // for any number of members, unlike moving them. Demands must stay the same.
  void change_class(ClassId id, ClassSpec spec);

  // Starts an activity of `work` units and returns its id. When the activity is done, calls sink.fire(payload). The id
  // may be reused from then on.
  ActivityId start(ClassId into, double work, EventSink& sink, std::uint64_t payload);
  // Moves the remaining work of an activity to another class, for example because the load of its compute unit changed.
  void move(ActivityId activity, ClassId into);

  // A bundle holds activities that are always in the same class, for example the workgroups with one phase shape on one
  // CU. Activities that have joined a bundle are only moved together, by move_bundle().
  BundleId add_bundle(ClassId in);
  void join(ActivityId activity, BundleId bundle);
  void move_bundle(BundleId bundle, ClassId into);
  bool has_members(BundleId bundle) const { return !bundles_[bundle].due_members.empty(); }

  // Lets served_until() look back by `window` from now on, at this capacity and all others with the same numbers in
  // their specs, so that no GPU's past depends on which GPU was asked first. The present loads count as the loads
  // before the first call. If a later call asks for a larger window, served_until() knows nothing of the time before
  // the first one's window.
  void watch(CapacityId id, Time window);
  // Returns the units that a watched capacity has served until `at`, a moment between `window` ago and now.
  double served_until(CapacityId id, Time at) const { return capacities_[id].history->served(at); }

  // A meter counts what activities do, such as their energy, and limits nothing. Its level is in units per second: the
  // units that activities add, plus all add_level(). `full` is a reference value for observers, such as the power cap.
  struct MeterSpec {
    std::string name;
    double full = 0;
  };
  MeterId add_meter(MeterSpec spec);
  void add_level(MeterId meter, double units_per_second);
  const MeterSpec& meter(MeterId id) const { return meters_[id].spec; }
  double level(MeterId id) const { return meters_[id].level; }
  double counted(MeterId id) const;                                       // units until now
  double highest_level(MeterId id) const { return meters_[id].highest; }  // the highest level at the end of an instant

  void settle() override;
  void fire(std::uint64_t class_id) override;
  void fires_next(std::uint64_t class_id) const override;
  void observe(SharingObserver* observer) { observer_ = observer; }

  // --- Figures ------------------------------------------------------------------------------------------------
  const CapacitySpec& capacity(CapacityId id) const { return capacities_[id].spec; }
  std::size_t capacities() const { return capacities_.size(); }
  std::size_t classes() const { return classes_.size(); }
  double rate_of(ClassId id) const { return classes_[id].rate; }  // per member, in work per second
  std::uint32_t members(ClassId id) const { return classes_[id].members; }
  double load(CapacityId id) const;  // current load in units per second
  const ClassSpec& spec(ClassId id) const { return classes_[id].spec; }
  // Returns the work that all members of a class have done until the last change of the class.
  double done(ClassId id) const { return classes_[id].progressed; }
  // Adds units that were not simulated on this capacity, because a stand-in (one rank simulated for all) did the work.
  void serve(CapacityId id, double units) { capacities_[id].elsewhere += units; }
  // Returns the units that a capacity has served: the progress of each class that demands the capacity, until the last
  // change of this class, plus the units of serve().
  double served(CapacityId id) const;
  std::vector<double> served() const;  // returns served(id) of all capacities, computed in one pass
  std::uint64_t solves() const { return solves_; }
  // Throws InvariantError if work was lost or invented: in each class, started work must equal done plus remaining
  // work.
  void check_conservation() const;

 private:
  // An entry of a list of members: an activity or, in the list of a class, a bundle. The entry of a bundle has the
  // finish and the sequence of the member that ends first.
  struct Member {
    double finish;           // on the clock of the class or, in the list of a bundle, of the bundle
    std::uint64_t sequence;  // of the start, move or joining of the activity; breaks ties
    std::uint32_t id;        // an ActivityId, or bundle_flag | BundleId
    std::uint32_t version;   // an entry with another version than its activity or bundle is stale
  };
  static constexpr std::uint32_t bundle_flag = 1U << 31;
  struct Sooner {
    bool operator()(const Member& a, const Member& b) const {
      return a.finish != b.finish ? a.finish < b.finish : a.sequence < b.sequence;
    }
  };
  struct alignas(64) Class {
    double rate = 0;
    double virtual_clock = 0;  // work per member since the clock was last reset
    Time updated;
    std::uint32_t members = 0;
    std::uint32_t solved_members = 0;
    Calendar::EventId timer = Calendar::none;
    Time due;  // time that the timer is set to
    bool dirty = false;
    bool listed = false;     // in `active` of its capacities; may stay there without members until the next collect()
    bool changed = false;    // by change_class(), since it was last solved
    std::uint64_t mark = 0;  // last collect() that visited it
    std::uint32_t component = no_id;  // the component that contains it as variable `place`
    std::uint32_t place = 0;
    std::uint32_t kind = 0;     // equal for classes with the same numbers in their specs
    std::uint32_t entries = 0;  // entries of due_members that are not stale
    Due<Member, Sooner> due_members;
    double started = 0;     // work taken on, minus work moved to other classes
    double progressed = 0;  // work of all members: rate x members x time
    double on_meters = 0;   // work per second that the levels of its meters include
    ClassSpec spec;         // last, so that the fields that events touch share cache lines
  };
  struct Capacity {
    CapacitySpec spec;
    std::vector<ClassId> active;
    std::uint64_t mark = 0;
    std::uint32_t kind = 0;                  // equal for capacities with the same numbers in their specs
    double used = 0;                         // load, if it is in no component
    double elsewhere = 0;                    // units added by serve()
    std::unique_ptr<LoadHistory> history{};  // of a watched capacity
    std::uint32_t component = no_id;         // the component that contains it as constraint `place`
    std::uint32_t place = 0;
  };
  struct Meter {
    MeterSpec spec{};
    double level = 0;
    double highest = 0;
    double counted = 0;  // units counted until `since`
    Time since{};
    bool changed = false;
  };
  struct Activity {
    ClassId in = no_id;  // no_id: the activity has ended, or a bundle has it
    std::uint32_t version = 0;
    EventSink* sink = nullptr;
    std::uint64_t payload = 0;
    double finish = 0;
  };
  struct Bundle {
    ClassId in = no_id;
    std::uint32_t version = 0;
    double ahead = 0;     // clock of the bundle minus clock of its class; a move changes only this difference
    double finishes = 0;  // sum of Member::finish
    Due<Member, Sooner> due_members;
  };

  // A set of classes and capacities that are connected by demands. The indices of `classes` and `capacities` are the
  // solver's numbers of variables and constraints.
  struct Component {
    ShareMemo::State* state = nullptr;  // null: the component is dissolved
    ShareComponent solver;              // built only for the first change that the memo does not know
    std::uint64_t solver_is_in = 0;     // number of the state that the solver has; 0: the solver is not built
    std::vector<ClassId> classes;
    std::vector<CapacityId> capacities;
    std::vector<ClassId> dirty;  // its classes that changed in this settlement
    bool fresh = true;           // not solved since it was built or restarted
    bool outdated = false;       // a class has changed, so the solver and the state have old numbers
  };

  // Returns the assumed rounding error of a class's virtual clock: 1e-15 of its value, plus the progress in 1e-15 s.
  static double slack(const Class& c) { return 1e-15 * (c.rate + c.virtual_clock); }
  // True if due_members has no stale entries. An entry becomes stale when its activity or bundle leaves the class, or
  // when another member of the bundle becomes the first.
  static bool all_are_there(const Class& c) { return c.due_members.size() == c.entries; }
  bool stale(const Member& m) const {
    return (m.id & bundle_flag ? bundles_[m.id & ~bundle_flag].version : activities_[m.id].version) != m.version;
  }
  void take_members(Class& c, ClassId id, std::uint32_t count, double work);
  void lose_members(Class& c, ClassId id, std::uint32_t count, double work);
  void push(Class& c, const Member& entry);
  void push(Class& c, BundleId bundle);
  ActivityId take_first(Class& c, BundleId bundle);
  void advance(Class& c);
  double leave(ActivityId activity);
  void enter(ActivityId activity, ClassId into, double work);
  void mark_dirty(ClassId id);
  void drop_stale(Class& c);
  void retime(ClassId id);
  void list(ClassId id);
  void unlist(ClassId id);
  void collect(ClassId seed);
  std::uint32_t kind(std::vector<double> numbers);
  std::uint32_t kind_of(const ClassSpec& spec);
  ClassSpec merged(ClassSpec spec) const;
  CapacityId stretched_by(const ClassSpec& spec) const;
  void find_start(std::uint32_t component);
  void forget_solution(std::uint32_t component);
  void build_solver(Component& component) const;
  const ShareMemo::Step& next_step(Component& component);
  void dissolve(std::uint32_t component);
  void solve(std::uint32_t component);
  void set_meters(Class& c);
  void change_meters(const Class& c, const ClassSpec& to);
  void settle_meters();

  RunLoop& loop_;
  std::uint32_t component_;
  SharingObserver* observer_ = nullptr;
  std::vector<Capacity> capacities_;
  std::vector<Class> classes_;
  std::vector<Activity> activities_;
  std::vector<ActivityId> free_activities_;
  std::vector<Bundle> bundles_;
  std::vector<ClassId> dirty_;
  std::uint64_t sequence_ = 0;
  std::uint64_t mark_ = 0;
  std::uint64_t solves_ = 0;
  ShareMemo memo_;
  std::map<std::vector<double>, std::uint32_t> kinds_;  // of classes and capacities
  ShareMemo::Words words_;                              // scratch
  std::vector<double> guesses_;                         // scratch
  std::vector<Component> components_;                   // reused until a class or connection changes
  std::vector<std::uint32_t> free_components_;
  std::vector<ClassId> empty_, new_rates_, changed_;  // scratch
  std::vector<CapacityId> changed_loads_;
  bool watches_ = false;
  std::vector<Meter> meters_;
  std::vector<MeterId> changed_meters_;
};

}  // namespace moire::core
