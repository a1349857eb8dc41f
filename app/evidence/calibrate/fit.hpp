// Least squares without derivatives, inside bounds.
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

// The variables that make `loss` least: BOBYQA of NLopt (quadratic models inside bounds; Subplex for one variable,
// which BOBYQA does not take), at most `evaluations` of them; stops earlier when the variables or the loss no longer
// change.
std::vector<double> minimise(const std::vector<Variable>& variables, int evaluations,
                             const std::function<double(const std::vector<double>&)>& loss);

}  // namespace moire::calibrate
