// Least-squares fits of simulated values within bounds. A simulated time is exact to about nine digits; further digits
// depend on the order in which a solver adds. Therefore a search either uses slopes over sufficiently large steps, or
// compares losses at places that do not depend on earlier losses, and takes nearly equal losses as equal.
#pragma once

#include <functional>
#include <vector>

namespace moire::calibrate {

struct Variable {
  double start = 0;
  double low = 0;
  double high = 0;
  double step = 0;  // size of the first changes; 0: 15 % of the start
};

// The difference of a simulated and a measured value: 2 (s - m) / (s + m), at most 2. It equals the logarithm of their
// ratio up to third order, and plain arithmetic gives the same bits on every machine.
double deviation(double simulated, double measured);

// Soft L1 loss of a deviation: its square if it is small, but linear beyond `knee`, so that a point that the model
// cannot reproduce does not spoil the others.
constexpr double knee = 0.05;
double soft_square(double deviation);

// The deviation of each point for these values.
using Deviations = std::function<std::vector<double>(const std::vector<double>& values)>;

// The sum of weighted soft squares.
double loss_of(const std::vector<double>& deviations, const std::vector<double>& weights);

// Finds the values with the least loss downhill of the start, by damped Gauss-Newton steps (Levenberg-Marquardt), in
// logarithms of variables that cannot be 0. A single variable is searched by `minimise` instead. Takes at most
// `evaluations`, not counting those of the last slopes.
std::vector<double> fit_points(const std::vector<Variable>& variables, const std::vector<double>& weights,
                               int evaluations, const Deviations& deviations);

// Finds the least loss on a grid from half to twice the start, then on finer grids around it. For few variables whose
// loss has steps.
std::vector<double> scan(const std::vector<Variable>& variables, const std::vector<double>& weights,
                         const Deviations& deviations);

// Finds the variables with the least `loss` by BOBYQA of NLopt (quadratic models within bounds; Subplex for one
// variable, which BOBYQA cannot handle). Takes at most `evaluations`, and stops earlier when neither variables nor loss
// change any more.
std::vector<double> minimise(const std::vector<Variable>& variables, int evaluations,
                             const std::function<double(const std::vector<double>&)>& loss);

}  // namespace moire::calibrate
