// Classes that are connected through capacities, and the solver of the sharing law (sharing.hpp) for them.
//
// Variables are classes, constraints capacities, both in the order in which they were added; copied out of the classes,
// so that the solver's loops run over a few cache lines. What it found stays, and a solve goes on from there: where no
// capacity is contended, only what the change reaches is looked at again.
#pragma once

#include <cstdint>
#include <vector>

namespace moire::core {

struct ClassSpec;

class ShareComponent {
 public:
  // Constraints first, then variables, each followed by its uses.
  // The search for loads begins at `used`, units per second.
  std::uint32_t add_constraint(double rate, double latency_growth, double latency_exponent, double used);
  void begin_variable(const ClassSpec& spec);
  void add_use(std::uint32_t constraint, double per_work);
  void stretched_by(std::uint32_t constraint);
  void complete();  // all variables are there, without members
  void clear();

  // A change: some variables get other numbers of members, then it is solved.
  void begin_change();
  void set_members(std::uint32_t variable, std::uint32_t members);
  void solve();

  std::uint32_t variables() const { return static_cast<std::uint32_t>(variables_.size()); }
  std::uint32_t present() const { return present_; }  // variables with members
  std::uint32_t members(std::uint32_t variable) const { return variables_[variable].members; }
  double rate(std::uint32_t variable) const { return variables_[variable].rate; }
  double load(std::uint32_t constraint) const { return constraints_[constraint].load * constraints_[constraint].rate; }
  // Of the last change, in no order: whose rate or load may be another one.
  const std::vector<std::uint32_t>& changed_rates() const { return changed_rates_; }
  const std::vector<std::uint32_t>& changed_loads() const { return changed_loads_; }

 private:
  struct Variable {
    double weight = 0;
    double bound = 0;
    double window = 0;
    double latency = 0;
    double delay = 0;
    double curvature = 0;  // delay x weight / window: rate = weight x level / (1 + curvature x level)
    bool in_turn = false;
    std::uint32_t stretched_by = UINT32_MAX;  // the constraint whose load stretches the latency
    std::uint32_t first_use = 0;
    std::uint32_t last_use = 0;
    double limit = 0;  // the least of bound and window / latency
    double level = 0;  // at which the limit is reached
    double rate = 0;
    double rate_before = 0;
    std::uint32_t members = 0;
    bool rising = false;
    bool reported = false;  // among changed_rates_
  };
  struct Use {
    std::uint32_t constraint;
    double per_work;
    double amount;       // units of the capacity per unit of member rate: per_work x members
    std::uint32_t user;  // of the constraint
  };
  struct User {
    double share;  // of the capacity that a unit of member rate takes
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
    bool stopped = false;    // a user stopped since
    bool curved = false;     // a user has a curvature
    bool alike = true;       // and all of them have this one
    double curvature = 0;
    std::uint32_t first_user = 0, last_user = 0;
    std::uint32_t first_listener = 0, last_listener = 0;  // variables whose latency it stretches
    // The fixed point of the loaded latency; loads as a part of `rate`.
    double growth = 0;
    double exponent = 1;
    double assumed = 0;
    double change = 0;  // load - assumed, of the round before
    double damping = 1;
    double stretch = 1;
    double steepness = 0;  // d log(stretch) / d load
    double load = 0;
    bool touched = false;   // among touched_
    bool reported = false;  // among changed_loads_
  };

  void limit(Variable& v) const;
  void weigh();
  void solve_all();
  bool solve_touched();
  static double load_before(const Constraint& k);
  void restretch(std::uint32_t constraint);
  void touch_uses(const Variable& v);
  void touch(std::uint32_t constraint);
  void report_rate(std::uint32_t variable);
  void find_loads();
  void stretch(Constraint& k) const;
  void correct(std::uint32_t constraint);
  void sum_loads();
  void sum_load(std::uint32_t constraint);
  double slope(std::uint32_t constraint) const;
  bool is_stretched(const Variable& v) const;
  double latency_share(const Variable& v) const;
  void fill();
  bool find_contended();
  void freeze(Variable& v, double rate);
  double level_when_full(const Constraint& k, double level) const;
  double full_level(const Constraint*& full);

  std::vector<Variable> variables_;
  std::vector<Use> uses_;
  std::vector<Constraint> constraints_;
  std::vector<User> users_;
  std::vector<std::uint32_t> listeners_;  // variables
  std::vector<std::uint32_t> order_;      // variables by level
  std::vector<std::uint32_t> contended_;  // constraints
  std::uint32_t present_ = 0;
  bool loaded_latency_ = false;
  bool uncontended_ = false;  // and solved: rates are limits, loads fit the latencies
  std::vector<std::uint32_t> touched_, touched_next_;
  std::vector<std::uint32_t> corrected_;
  std::vector<std::uint32_t> changed_rates_, changed_loads_;
};

}  // namespace moire::core
