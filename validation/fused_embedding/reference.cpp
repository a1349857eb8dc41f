#include "reference.hpp"

#include <algorithm>
#include <cmath>
#include <thread>

namespace {

// Returns `value` rounded to the dtype, to nearest with ties to even. No sum is subnormal, so only the number of
// significand bits matters.
double rounded(double value, Dtype dtype) {
  if (value == 0) return 0;
  const int bits = dtype == Dtype::fp32 ? 24 : dtype == Dtype::fp16 ? 11 : 8;
  int exponent = 0;
  const double significand = std::frexp(value, &exponent);  // in [0.5, 1)
  return std::ldexp(std::nearbyint(std::ldexp(significand, bits)), exponent - bits);
}

double expected(const Shape& s, const Popularity& popularity, Layout layout, int rank, uint64_t seed, int64_t element) {
  const int64_t vector = element / s.dim;
  const int column = int(element % s.dim);
  const bool by_sample = layout == Layout::sample_major;
  const int table = int(by_sample ? vector % s.global_tables() : vector / s.samples_per_rank());
  const int own_sample = int(by_sample ? vector / s.global_tables() : vector % s.samples_per_rank());
  const int sample = rank * s.samples_per_rank() + own_sample;
  double sum = 0;
  for (int slot = 0; slot < s.pooling; ++slot)
    sum += weight_at(s, table, row_at(s, popularity, table, sample, slot, seed), column);
  return rounded(sum, s.dtype);
}

}  // namespace

CheckResult check_outputs(const Shape& shape, const Popularity& popularity, Layout layout, int rank, uint64_t seed,
                          const std::vector<int64_t>& elements, const std::vector<float>& values) {
  const size_t workers = std::clamp<size_t>(std::thread::hardware_concurrency(), 1, 16);
  std::vector<CheckResult> partial(workers);
  std::vector<std::thread> threads;
  for (size_t w = 0; w < workers; ++w) {
    threads.emplace_back([&, w] {
      CheckResult& mine = partial[w];
      for (size_t i = w; i < elements.size(); i += workers) {
        const double want = expected(shape, popularity, layout, rank, seed, elements[i]);
        const double error = std::abs(double(values[i]) - want);
        ++mine.checked;
        if (!(error == 0)) ++mine.wrong;  // also counts NaN
        if (!(error <= mine.worst_error)) mine.worst_error = error;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  CheckResult total;
  for (const CheckResult& p : partial) {
    total.checked += p.checked;
    total.wrong += p.wrong;
    total.worst_error = std::max(total.worst_error, p.worst_error);
  }
  return total;
}
