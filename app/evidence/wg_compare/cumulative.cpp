#include "app/evidence/wg_compare/cumulative.hpp"

#include <algorithm>
#include <cmath>

namespace moire::wg_compare {

namespace {

struct Change {
  Time at;
  double step = 0;
  double slope = 0;  // amount per ps
};

// Returns the area between zero and a straight line that goes from d0 to d1 within `length`.
double area(double d0, double d1, double length) {
  if ((d0 >= 0) == (d1 >= 0)) return std::abs(d0 + d1) / 2 * length;
  return (d0 * d0 + d1 * d1) / (2 * (std::abs(d0) + std::abs(d1))) * length;
}

}  // namespace

Cumulative::Cumulative(const std::vector<Portion>& portions) {
  std::vector<Change> changes;
  changes.reserve(2 * portions.size());
  for (const Portion& portion : portions) {
    total_ += portion.amount;
    if (portion.begin == portion.end) {
      changes.push_back({portion.begin, portion.amount, 0});
      continue;
    }
    const double slope = portion.amount / static_cast<double>((portion.end - portion.begin).ps);
    changes.push_back({portion.begin, 0, slope});
    changes.push_back({portion.end, 0, -slope});
  }
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) { return a.at < b.at; });
  double value = 0;
  double slope = 0;
  for (std::size_t i = 0; i < changes.size();) {
    const Time at = changes[i].at;
    if (!points_.empty()) value += slope * static_cast<double>((at - points_.back().at).ps);
    Point point{at, value, value};
    for (; i < changes.size() && changes[i].at == at; ++i) {
      point.after += changes[i].step;
      slope += changes[i].slope;
    }
    value = point.after;
    points_.push_back(point);
  }
}

double Cumulative::value(Time time, bool with_step) const {
  const auto next =
      std::lower_bound(points_.begin(), points_.end(), time, [](const Point& point, Time t) { return point.at < t; });
  if (next != points_.end() && next->at == time) return with_step ? next->after : next->before;
  if (next == points_.begin()) return 0;
  const Point& before = *std::prev(next);
  if (next == points_.end()) return before.after;
  const double share = static_cast<double>((time - before.at).ps) / static_cast<double>((next->at - before.at).ps);
  return before.after + share * (next->before - before.after);
}

double area_between(const Cumulative& a, const Cumulative& b) {
  std::vector<Time> times;
  times.reserve(a.points_.size() + b.points_.size());
  for (const Cumulative::Point& point : a.points_) times.push_back(point.at);
  for (const Cumulative::Point& point : b.points_) times.push_back(point.at);
  std::sort(times.begin(), times.end());
  double sum = 0;
  for (std::size_t i = 1; i < times.size(); ++i) {
    if (times[i] == times[i - 1]) continue;
    const double from = a.value(times[i - 1], true) - b.value(times[i - 1], true);
    const double to = a.value(times[i], false) - b.value(times[i], false);
    sum += area(from, to, static_cast<double>((times[i] - times[i - 1]).ps));
  }
  return sum;
}

}  // namespace moire::wg_compare
