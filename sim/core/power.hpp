// Computes base^exponent and ln(x) with IEEE additions, multiplications and divisions only, so that results have the
// same bits on every machine. The C library selects a variant of pow by processor, and variants differ in the last bit.
#pragma once

namespace moire::core {

// Returns base^exponent for base > 0. The relative error is below 1e-14 if |exponent * ln(base)| < 100.
double power(double base, double exponent);

// Returns ln(x) for x > 0.
double logarithm(double x);

}  // namespace moire::core
