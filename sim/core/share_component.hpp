// The solver of the sharing law (sharing.hpp) for one set of classes that are connected through capacities.
//
// A variable is a class and a constraint is a capacity; both are numbered in the order in which they were added. The
// solver copies the values of their specs, so that its loops touch few cache lines. It keeps its solution between
// solves. A capacity is contended if its users would demand more than its rate when no capacity limited them. While no
// capacity is contended, a solve only recomputes what the change affects.
#pragma once

#include <cstdint>
#include <vector>

namespace moire::core {

struct ClassSpec;

class ShareComponent {
 public:
  // Order of the calls: add_constraint() for all constraints; for each variable begin_variable(), then its add_use()
  // and stretched_by(); complete(); restore() of a state without members (ShareMemo::start).
  std::uint32_t add_constraint(double rate, double latency_growth, double latency_exponent);
  void begin_variable(const ClassSpec& spec);
  void add_use(std::uint32_t constraint, double per_work);
  void stretched_by(std::uint32_t constraint);
  void complete();  // call when all variables have been added; none has members yet
  void clear();

  // save() appends the state that the solver keeps between solves, in the order that ShareMemo::State lists. A
  // component of the same structure that restores this state continues with the same results, to the last bit.
  void save(std::vector<std::uint64_t>& words) const;
  void restore(const std::uint64_t* words);

  // Order of the calls for a change: begin_change(), set_members() for some variables, solve().
  void begin_change();
  void set_members(std::uint32_t variable, std::uint32_t members);
  void solve();

  std::uint32_t variables() const { return static_cast<std::uint32_t>(variables_.size()); }
  std::uint32_t present() const { return present_; }  // variables with members
  std::uint32_t members(std::uint32_t variable) const { return variables_[variable].members; }
  double rate(std::uint32_t variable) const { return variables_[variable].rate; }
  double load(std::uint32_t constraint) const { return constraints_[constraint].load * constraints_[constraint].rate; }
  // Variables whose rate, and constraints whose load, the last solve() may have changed, in no particular order.
  const std::vector<std::uint32_t>& changed_rates() const { return changed_rates_; }
  const std::vector<std::uint32_t>& changed_loads() const { return changed_loads_; }

 private:
  // One class. ClassSpec explains the first five fields and `in_turn`.
  struct Variable {
    double weight = 0;
    double bound = 0;
    double window = 0;
    double latency = 0;
    double delay = 0;
    double curvature = 0;  // delay x weight / window: rate = weight x level / (1 + curvature x level)
    bool in_turn = false;
    std::uint32_t stretched_by = UINT32_MAX;  // constraint whose load stretches the latency
    std::uint32_t first_use = 0;
    std::uint32_t last_use = 0;
    double limit = 0;  // the smaller of bound and window / latency (limit_of)
    double level = 0;  // filling level (see fill()) at which the rate reaches the limit
    double rate = 0;
    double rate_before = 0;
    std::uint32_t members = 0;
    double full_at = 0;  // filling level at which a full capacity stopped it; 0: it reached its limit
    bool rising = false;
    bool reported = false;  // already in changed_rates_
  };
  struct Use {
    std::uint32_t constraint;
    double per_work;
    double amount;       // units of the capacity per unit of member rate: per_work x members
    std::uint32_t user;  // index of the same use in users_
  };
  struct User {
    double share;  // fraction of the capacity per unit of member rate
    std::uint32_t variable;
    std::uint32_t use;
  };
  struct Constraint {
    double rate = 0;
    double free = 0;
    double weight = 0;         // sum over all users
    double rising_weight = 0;  // sum over users that are still rising
    double summed_weight = 0;  // value of rising_weight when it was last summed up, before subtractions
    std::uint32_t rising = 0;
    std::uint32_t users = 0;
    double most = 0;         // demand if all users run at their limits
    bool contended = false;  // `most` exceeds the rate
    bool full = false;       // it stopped some user
    bool stopped = false;    // a user stopped rising since this constraint's level in fullness_ was computed
    bool curved = false;     // some user has a curvature
    bool alike = true;       // all users have the same curvature (the field below)
    double curvature = 0;
    std::uint32_t first_user = 0, last_user = 0;
    std::uint32_t first_listener = 0, last_listener = 0;  // variables whose latency it stretches
    // State of the iteration for the load and the latency, which depend on each other. Loads are fractions of `rate`.
    double growth = 0;
    double exponent = 1;
    double assumed = 0;
    double change = 0;  // load - assumed in the previous round
    double damping = 1;
    double stretch = 1;
    double steepness = 0;  // d log(stretch) / d load
    double load = 0;
    bool touched = false;   // already in touched_
    bool reported = false;  // already in changed_loads_
  };
  // A contended capacity, and the filling level at which it is full or a lower bound of this level.
  struct Fullness {
    double level;
    std::uint32_t constraint;
  };
  // This is a function object and not a function, so that the compiler inlines comparisons.
  struct FullerLater {
    bool operator()(const Fullness& a, const Fullness& b) const {
      return a.level != b.level ? a.level > b.level : a.constraint > b.constraint;
    }
  };

  void set_amounts(const Variable& v);
  void limit(Variable& v) const;
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
  bool adjust();
  void sum_loads();
  void sum_load(std::uint32_t constraint);
  double slope(std::uint32_t constraint) const;
  bool is_stretched(const Variable& v) const;
  double latency_share(const Variable& v) const;
  static double level_of_limit(const Variable& v);
  void fill();
  void find_contended();
  void freeze(Variable& v, double rate);
  double level_when_full(const Constraint& k, double level) const;
  const Fullness* first_full();
  void update_level(Constraint& k, double& level) const;

  std::vector<Variable> variables_;
  std::vector<Use> uses_;
  std::vector<Constraint> constraints_;
  std::vector<User> users_;
  std::vector<std::uint32_t> listeners_;  // variables
  std::vector<std::uint32_t> growing_;    // constraints whose load stretches latencies
  std::vector<std::uint32_t> order_;      // variables sorted by level
  std::vector<Fullness> fullness_;        // heap of contended capacities with rising users, lowest level first
  std::uint32_t present_ = 0;
  bool loaded_latency_ = false;
  bool uncontended_ = false;  // no capacity is contended: all rates equal their limits, loads agree with latencies
  std::vector<std::uint32_t> touched_, touched_next_;
  std::vector<std::uint32_t> corrected_;
  std::vector<std::uint32_t> changed_rates_, changed_loads_;
};

}  // namespace moire::core
