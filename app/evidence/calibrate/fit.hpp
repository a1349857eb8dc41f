// Least-squares fits of simulated values within bounds. A simulated time is exact to about nine digits; further digits
// depend on the order in which a solver adds. The result of a fit must not depend on these further digits. Therefore
// fit_points() with several variables uses slopes over sufficiently large steps and treats nearly equal losses as equal.
#pragma once

#include <functional>
#include <vector>

namespace moire::calibrate {

struct Variable {
  double start = 0;
  double low = 0;
  double high = 0;
  double step = 0;  // size of the first changes in minimise(); 0 means 15 % of the start
};

// Returns 2 (s - m) / (s + m) for a simulated value s and a measured value m: from -2 to 2, or 0 if they are equal. For
// small differences this is almost ln(s / m). Unlike a logarithm, it has the same bits on every machine.
double deviation(double simulated, double measured);

// Returns the soft L1 loss of a deviation: nearly its square if it is far below `knee`, and nearly linear far above.
// Therefore a point that the model cannot reproduce does not dominate the fit.
constexpr double knee = 0.05;
double soft_square(double deviation);

// Returns the deviation of each point for these values of the variables.
using Deviations = std::function<std::vector<double>(const std::vector<double>& values)>;

// Returns the weighted sum of the soft squares of the deviations.
double loss_of(const std::vector<double>& deviations, const std::vector<double>& weights);

// Returns the variables at a local minimum of the loss, found from their starts by damped Gauss-Newton steps
// (Levenberg-Marquardt). Variables that cannot be 0 are searched in logarithms. A single variable is searched by
// minimise(). Evaluates the deviations at most `evaluations` times, not counting those for the last slopes.
std::vector<double> fit_points(const std::vector<Variable>& variables, const std::vector<double>& weights,
                               int evaluations, const Deviations& deviations);

// Returns the variables with the least `loss` that a search by NLopt finds. The search uses BOBYQA (quadratic models
// within bounds), or Subplex for a single variable, because BOBYQA needs at least two. It evaluates the loss at most
// `evaluations` times, and stops earlier if the variables or the loss hardly change any more.
std::vector<double> minimise(const std::vector<Variable>& variables, int evaluations,
                             const std::function<double(const std::vector<double>&)>& loss);

}  // namespace moire::calibrate
