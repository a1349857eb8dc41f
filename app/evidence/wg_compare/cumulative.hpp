// An amount accumulated over time: bytes over a link, tasks begun, time that workgroups were busy.
#pragma once

#include <vector>

#include "sim/core/quantity.hpp"

namespace moire::wg_compare {

// An amount that arrives evenly from begin to end, or at once if they are equal.
struct Portion {
  Time begin;
  Time end;
  double amount = 0;
};

class Cumulative {
 public:
  Cumulative() = default;
  explicit Cumulative(const std::vector<Portion>& portions);

  double total() const { return total_; }
  Time last() const { return points_.empty() ? Time{} : points_.back().at; }
  double at(Time time) const { return value(time, true); }  // includes portions that arrive at `time` itself

 private:
  // `before` is the amount just before `at`, `after` the amount at `at`. Between points the amount grows linearly.
  struct Point {
    Time at;
    double before = 0;
    double after = 0;
  };
  double value(Time time, bool with_step) const;
  friend double area_between(const Cumulative& a, const Cumulative& b);

  std::vector<Point> points_;
  double total_ = 0;
};

// Returns the area between two curves, in amount x ps. If both curves have the same total, the area divided by the
// total is the Wasserstein-1 distance: the mean time by which the amount must move to turn one curve into the other.
double area_between(const Cumulative& a, const Cumulative& b);

}  // namespace moire::wg_compare
