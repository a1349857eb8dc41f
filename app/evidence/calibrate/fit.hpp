// Least squares of what is simulated, inside bounds. A simulated time is exact to nine digits or so; which digits
// follow depends on the order in which a solver adds. So a search either steps by slopes taken far enough apart, or
// compares losses at places that no loss has set, and takes nearly equal losses as equal.
#pragma once

#include <functional>
#include <vector>

namespace moire::calibrate {

struct Variable {
  double start = 0;
  double low = 0;
  double high = 0;
  double step = 0;  // of the first changes; 0: 15 % of the start
};

// How far a simulated value is from a measured one: 2 (s - m) / (s + m), which is the logarithm of their ratio up to
// third order, and at most 2. Plain arithmetic, so the same bits on every machine.
double deviation(double simulated, double measured);

// Soft L1 of a deviation: its square while small, growing linearly beyond `knee`, so that a point the model cannot
// reach does not bend all others.
constexpr double knee = 0.05;
double soft_square(double deviation);

// How far each point is at these values.
using Deviations = std::function<std::vector<double>(const std::vector<double>& values)>;

// Sum of weighted soft squares.
double loss_of(const std::vector<double>& deviations, const std::vector<double>& weights);

// The values with the least loss that is found downhill of the start, by damped Gauss-Newton steps (Levenberg and
// Marquardt) in logarithms of variables that cannot be 0; one variable is searched without slopes, by `minimise`. At
// most `evaluations`, but for those of the last slopes.
std::vector<double> fit_points(const std::vector<Variable>& variables, const std::vector<double>& weights,
                               int evaluations, const Deviations& deviations);

// The least of the losses on a grid from half of the start to twice as much, then on finer ones around that: for few
// variables whose loss has steps.
std::vector<double> scan(const std::vector<Variable>& variables, const std::vector<double>& weights,
                         const Deviations& deviations);

// The variables that make `loss` least: BOBYQA of NLopt (quadratic models inside bounds; Subplex for one variable,
// which BOBYQA does not take), at most `evaluations` of them; stops earlier when the variables or the loss no longer
// change.
std::vector<double> minimise(const std::vector<Variable>& variables, int evaluations,
                             const std::function<double(const std::vector<double>&)>& loss);

}  // namespace moire::calibrate
