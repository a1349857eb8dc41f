#include "app/evidence/calibrate/fit.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <nlopt.hpp>

#include "sim/core/invariant.hpp"
#include "sim/core/power.hpp"

namespace moire::calibrate {

namespace {

constexpr double first_step = 0.15;     // in minimise(), relative to a variable's scale
constexpr double step_at_bound = 0.01;  // used if the bounds leave no space, because NLopt requires a step above 0
// minimise() ends if the variables or the loss change by less than these relative amounts. Finer searches would be
// useless, because results are written with four digits.
constexpr double variable_tolerance = 1e-4, loss_tolerance = 1e-5;
constexpr double exact_loss = 1e-10;  // a search also ends at this loss: relative errors are then about 1e-5

using Loss = std::function<double(const std::vector<double>&)>;

struct Problem {
  const std::vector<Variable>& variables;
  const std::vector<double>& scale;
  const Loss& loss;
  std::vector<double> best;  // in the variables' units
  double least = HUGE_VAL;
  std::exception_ptr thrown = nullptr;  // exception of the loss, which NLopt does not pass on
};

double evaluate(const std::vector<double>& x, std::vector<double>& gradient, void* data) {
  MOIRE_INVARIANT(gradient.empty(), "a search without derivatives asks for a gradient");
  auto& problem = *static_cast<Problem*>(data);
  std::vector<double> values(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Variable& v = problem.variables[i];
    values[i] = std::clamp(x[i] * problem.scale[i], v.low, v.high);  // scaling may round beyond a bound
  }
  double loss = HUGE_VAL;
  try {
    loss = problem.loss(values);
  } catch (...) {
    problem.thrown = std::current_exception();
    throw nlopt::forced_stop();
  }
  if (loss < problem.least) {
    problem.least = loss;
    problem.best = values;
  }
  return loss;
}

}  // namespace

namespace {

// Sizes of steps, in binary logarithms or relative to a variable's scale. `slope_step` is so large that the rounding of
// simulated times to picoseconds does not matter. A search ends if its next step is shorter than `least_step`, which is
// far below the four digits of a written result.
constexpr double slope_step = 5e-3, least_step = 1e-5, most_step = 1;
constexpr double least_part = 1e-9;  // values relative to the scale are rounded to multiples of this part
constexpr double first_damping = 1e-3, least_damping = 1e-9, most_damping = 1e6, damping_factor = 8;
// Losses with a smaller relative difference count as equal. The last digits of simulated times change a loss by far
// less, and differences that matter are larger. If the loss after a step counts as equal to the loss before, the search
// takes the step and ends.
constexpr double alike = 1e-5;

// A variable in the units of the search: its binary logarithm, or its ratio to a scale if it can be 0.
class Coordinate {
 public:
  explicit Coordinate(const Variable& variable)
      : variable_(variable),
        logarithmic_(variable.low > 0),
        scale_(variable.start > 0 ? variable.start : variable.high / 10) {}

  double start() const { return of(std::clamp(variable_.start, variable_.low, variable_.high)); }
  double low() const { return of(variable_.low); }
  double high() const { return of(variable_.high); }
  double value(double x) const {
    const double own = logarithmic_ ? core::power(2, x) : std::round(x / least_part) * least_part;
    return std::clamp(scale_ * own, variable_.low, variable_.high);
  }
  // Returns the scale of steps near x: 1 for a logarithm, otherwise the absolute value of x, but at least 0.1.
  double unit(double x) const { return logarithmic_ ? 1 : std::max(std::abs(x), 0.1); }

 private:
  double of(double value) const {
    return logarithmic_ ? core::logarithm(value / scale_) / core::logarithm(2) : value / scale_;
  }

  Variable variable_;
  bool logarithmic_;
  double scale_;
};

using Row = std::vector<double>;

// Returns the x of a x = b, found by elimination. Pivoting is not needed, because `a` is symmetric and positive
// definite.
Row solve(std::vector<Row> a, Row b) {
  const std::size_t n = b.size();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i + 1; j < n; ++j) {
      const double factor = a[j][i] / a[i][i];
      for (std::size_t k = i; k < n; ++k) a[j][k] -= factor * a[i][k];
      b[j] -= factor * b[i];
    }
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) b[i] -= a[i][k] * b[k];
    b[i] /= a[i][i];
  }
  return b;
}

class Descent {
 public:
  Descent(const std::vector<Variable>& variables, const Row& weights, int evaluations, const Deviations& deviations)
      : weights_(weights), left_(evaluations), deviations_(deviations) {
    for (const Variable& variable : variables) {
      coordinates_.emplace_back(variable);
      here_.x.push_back(coordinates_.back().start());
    }
  }

  Row run() {
    here_ = at(here_.x);
    while (left_ > 0 && here_.loss > exact_loss) {
      if (!step()) break;
    }
    return values(here_.x);
  }

 private:
  struct Point {
    Row x;
    Row deviations;
    double loss = 0;
  };

  Row values(const Row& x) const {
    Row out;
    for (std::size_t i = 0; i < x.size(); ++i) out.push_back(coordinates_[i].value(x[i]));
    return out;
  }

  Point at(const Row& x) {
    --left_;
    Point point{x, deviations_(values(x)), 0};
    point.loss = loss_of(point.deviations, weights_);
    return point;
  }

  // Returns the slopes of all deviations along variable i. Uses values on both sides, or on one side at a bound.
  Row slope(std::size_t i) {
    const Coordinate& c = coordinates_[i];
    const double h = slope_step * c.unit(here_.x[i]);
    Row x = here_.x;
    const double up = x[i] = std::min(here_.x[i] + h, c.high());
    const Row above = up > here_.x[i] ? at(x).deviations : here_.deviations;
    const double down = x[i] = std::max(here_.x[i] - h, c.low());
    const Row below = down < here_.x[i] ? at(x).deviations : here_.deviations;
    Row out(above.size(), 0);
    if (up <= down) return out;
    for (std::size_t p = 0; p < out.size(); ++p) out[p] = (above[p] - below[p]) / (up - down);
    return out;
  }

  // Takes a step. Returns false if the search is over, because no further step reduces the loss by much.
  bool step() {
    const std::size_t n = coordinates_.size();
    std::vector<Row> slopes;
    for (std::size_t i = 0; i < n; ++i) slopes.push_back(slope(i));
    Row gradient(n, 0);
    std::vector<Row> curvature(n, Row(n, 0));
    for (std::size_t p = 0; p < weights_.size(); ++p) {
      const double d = here_.deviations[p];
      const double flat = 1 / std::sqrt(1 + d * d / (knee * knee));
      for (std::size_t i = 0; i < n; ++i) {
        gradient[i] += weights_[p] * 2 * flat * d * slopes[i][p];
        for (std::size_t j = 0; j < n; ++j)
          curvature[i][j] += weights_[p] * 2 * flat * flat * flat * slopes[i][p] * slopes[j][p];
      }
    }
    // Leaves out a variable if it has no effect at this point, or if it is at a bound and a step would cross the bound.
    std::vector<std::size_t> free;
    for (std::size_t i = 0; i < n; ++i) {
      const bool beyond = gradient[i] > 0 ? here_.x[i] <= coordinates_[i].low() : here_.x[i] >= coordinates_[i].high();
      if (curvature[i][i] > 0 && !beyond) free.push_back(i);
    }
    for (; damping_ <= most_damping && left_ > 0; damping_ *= damping_factor) {
      Row x = here_.x;
      if (!damped_step(free, gradient, curvature, x)) return false;
      Point there = at(x);
      const double gain = here_.loss - there.loss;
      if (gain < -alike * here_.loss) continue;
      const bool is_last = gain < alike * here_.loss;
      here_ = std::move(there);
      damping_ = std::max(damping_ / damping_factor / damping_factor, least_damping);
      return !is_last;
    }
    return false;
  }

  // Adds a damped Gauss-Newton step of the variables in `free` to `x`. Returns false if the step is negligible.
  bool damped_step(const std::vector<std::size_t>& free, const Row& gradient, const std::vector<Row>& curvature,
                   Row& x) const {
    std::vector<Row> a;
    Row b;
    for (const std::size_t i : free) {
      a.emplace_back();
      for (const std::size_t j : free) a.back().push_back(curvature[i][j] * (i == j ? 1 + damping_ : 1));
      b.push_back(-gradient[i]);
    }
    Row change = solve(std::move(a), std::move(b));
    double longest = 0;
    for (std::size_t k = 0; k < free.size(); ++k) {
      longest = std::max(longest, std::abs(change[k]) / coordinates_[free[k]].unit(x[free[k]]));
    }
    if (longest < least_step) return false;
    for (std::size_t k = 0; k < free.size(); ++k) {
      const std::size_t i = free[k];
      x[i] = std::clamp(x[i] + change[k] * std::min(1.0, most_step / longest), coordinates_[i].low(),
                        coordinates_[i].high());
    }
    return true;
  }

  const Row& weights_;
  int left_;
  const Deviations& deviations_;
  std::vector<Coordinate> coordinates_;
  Point here_;
  double damping_ = first_damping;
};

}  // namespace

double deviation(double simulated, double measured) {
  const double sum = simulated + measured;
  return sum > 0 ? 2 * (simulated - measured) / sum : 0;
}

double soft_square(double deviation) {
  const double r = deviation / knee;
  return 2 * knee * knee * (std::sqrt(1 + r * r) - 1);
}

double loss_of(const std::vector<double>& deviations, const std::vector<double>& weights) {
  double sum = 0;
  for (std::size_t i = 0; i < deviations.size(); ++i) sum += weights[i] * soft_square(deviations[i]);
  return sum;
}

std::vector<double> fit_points(const std::vector<Variable>& variables, const std::vector<double>& weights,
                               int evaluations, const Deviations& deviations) {
  if (variables.size() == 1)
    return minimise(variables, evaluations,
                    [&](const std::vector<double>& values) { return loss_of(deviations(values), weights); });
  return Descent(variables, weights, evaluations, deviations).run();
}

std::vector<double> minimise(const std::vector<Variable>& variables, int evaluations, const Loss& loss) {
  const std::size_t n = variables.size();
  std::vector<double> scale(n);
  std::vector<double> x(n);
  std::vector<double> low(n);
  std::vector<double> high(n);
  for (std::size_t i = 0; i < n; ++i) {
    const Variable& v = variables[i];
    const double start = std::clamp(v.start, v.low, v.high);
    scale[i] = v.step > 0 ? v.step / first_step : start > 0 ? start : v.high / 10;
    x[i] = start / scale[i];
    low[i] = v.low / scale[i];
    high[i] = v.high / scale[i];
  }
  Problem problem{variables, scale, loss, {}, HUGE_VAL};
  nlopt::opt search(n < 2 ? nlopt::LN_SBPLX : nlopt::LN_BOBYQA, static_cast<unsigned>(n));
  search.set_min_objective(evaluate, &problem);
  search.set_lower_bounds(low);
  search.set_upper_bounds(high);
  std::vector<double> step(n);
  for (std::size_t i = 0; i < n; ++i) {
    step[i] = x[i] + first_step <= high[i] ? first_step : -std::min(first_step, x[i] - low[i]);
  }
  for (double& s : step) {
    if (s == 0) s = step_at_bound;
  }
  search.set_initial_step(step);
  search.set_xtol_rel(variable_tolerance);
  search.set_ftol_rel(loss_tolerance);
  search.set_stopval(exact_loss);
  search.set_maxeval(evaluations);
  double least = 0;
  try {
    search.optimize(x, least);
  } catch (const nlopt::roundoff_limited&) {
    // The best point so far is as good as rounding allows.
  } catch (const nlopt::forced_stop&) {
    std::rethrow_exception(problem.thrown);
  }
  return problem.best;
}

}  // namespace moire::calibrate
