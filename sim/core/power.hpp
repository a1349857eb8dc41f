// base^exponent and ln(x) from IEEE additions, multiplications and divisions only, so that results have the same bits
// on every machine. The C library selects a variant of pow by processor, and variants differ in the last bit.
#pragma once

namespace moire::core {

// base > 0. Relative error below 1e-14 for |exponent x ln(base)| < 100.
double power(double base, double exponent);

// ln(x), x > 0.
double logarithm(double x);

}  // namespace moire::core
