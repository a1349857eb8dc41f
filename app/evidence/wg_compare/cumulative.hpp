// An amount that has come together up to a date: bytes over a link, tasks begun, time that workgroups were busy.
#pragma once

#include <vector>

#include "sim/core/quantity.hpp"

namespace moire::wg_compare {

// Comes evenly from begin to end; at once where they are the same.
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
  double at(Time time) const { return value(time, true); }  // what comes at `time` itself is in it

 private:
  // The amount just before and from `at` on; between points it grows evenly.
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

// The area between the two curves, in amount x ps. With equal totals, divided by the total, it is the Wasserstein-1
// distance: by how much time the average part of the amount has to move to make one curve the other.
double area_between(const Cumulative& a, const Cumulative& b);

}  // namespace moire::wg_compare
