// Least-squares fits of simulated values within bounds. A simulated time is exact to about nine digits; further digits
// depend on the order in which a solver adds. The result of a fit must not depend on these further digits. Therefore a
// search either uses slopes over sufficiently large steps, or compares losses at values that do not depend on earlier
// losses. It treats nearly equal losses as equal.
#pragma once

#include <functional>
#include <vector>

namespace moire::calibrate {

struct Variable {
  double start = 0;
  double low = 0;
  double high = 0;
  double step = 0;  // size of the first changes; 0 means 15 % of the start
};

// The difference of a simulated and a measured value: 2 (s - m) / (s + m), at most 2. It equals the logarithm of their
// ratio up to third order, and plain arithmetic gives the same bits on every machine.
double deviation(double simulated, double measured);

// Returns the soft L1 loss of a deviation: nearly the square of a small deviation, but linear beyond `knee`. So a point
// that the model cannot reproduce does not dominate the fit.
constexpr double knee = 0.05;
double soft_square(double deviation);

// Returns the deviation of each point for these values of the variables.
using Deviations = std::function<std::vector<double>(const std::vector<double>& values)>;

// Returns the weighted sum of the soft squares of the deviations.
double loss_of(const std::vector<double>& deviations, const std::vector<double>& weights);

// Finds a local minimum of the loss from the start by damped Gauss-Newton steps (Levenberg-Marquardt). Variables that
// cannot be 0 are searched in logarithms. A single variable is searched by `minimise`. Evaluates the deviations at most
// `evaluations` times, not counting the last slopes.
std::vector<double> fit_points(const std::vector<Variable>& variables, const std::vector<double>& weights,
                               int evaluations, const Deviations& deviations);

// Finds the least loss on a grid from half to twice the start, then on finer grids around the best values so far. It is
// for few variables whose loss has steps, so that slopes are useless.
std::vector<double> scan(const std::vector<Variable>& variables, const std::vector<double>& weights,
                         const Deviations& deviations);

// Finds the variables with the least `loss` by BOBYQA of NLopt (quadratic models within bounds; Subplex for one
// variable, which BOBYQA cannot handle). Evaluates the loss at most `evaluations` times, and stops earlier when neither
// variables nor loss change any more.
std::vector<double> minimise(const std::vector<Variable>& variables, int evaluations,
                             const std::function<double(const std::vector<double>&)>& loss);

}  // namespace moire::calibrate
