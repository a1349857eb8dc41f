#include "app/evidence/calibrate/fit.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <nlopt.hpp>

#include "sim/core/invariant.hpp"

namespace moire::calibrate {

namespace {

constexpr double first_step = 0.15;     // of a variable over its scale
constexpr double step_at_bound = 0.01;  // where both bounds are where it begins: the search asks for a step above 0
// When the search ends: what is written has four digits, and a loss is a mean square of relative errors.
constexpr double variable_tolerance = 1e-4, loss_tolerance = 1e-5;
constexpr double exact_loss = 1e-10;  // errors of 1e-5: all points are met

using Loss = std::function<double(const std::vector<double>&)>;

struct Problem {
  const std::vector<Variable>& variables;
  const std::vector<double>& scale;
  const Loss& loss;
  std::vector<double> best;  // in the variables' units
  double least = HUGE_VAL;
  std::exception_ptr thrown = nullptr;  // by the loss: NLopt would forget it
};

double evaluate(const std::vector<double>& x, std::vector<double>& gradient, void* data) {
  MOIRE_INVARIANT(gradient.empty(), "nothing here has derivatives");
  auto& problem = *static_cast<Problem*>(data);
  std::vector<double> values(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Variable& v = problem.variables[i];
    values[i] = std::clamp(x[i] * problem.scale[i], v.low, v.high);  // scaling rounds
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

double deviation(double simulated, double measured) {
  const double sum = simulated + measured;
  return sum > 0 ? 2 * (simulated - measured) / sum : 0;
}

double soft_square(double deviation) {
  const double r = deviation / knee;
  return 2 * knee * knee * (std::sqrt(1 + r * r) - 1);
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
    // The best so far is as good as numbers allow.
  } catch (const nlopt::forced_stop&) {
    std::rethrow_exception(problem.thrown);
  }
  return problem.best;
}

}  // namespace moire::calibrate
