#include "reference.hpp"

#include <algorithm>
#include <cmath>
#include <thread>

namespace {

double expected(const Shape& s, int rank, uint64_t seed, int64_t element) {
  const int column = int(element % s.dim);
  const int global_table = int(element / s.dim % s.global_tables());
  const int sample = rank * s.samples_per_rank() + int(element / s.dim / s.global_tables());
  double sum = 0;
  for (int slot = 0; slot < s.pooling; ++slot)
    sum += weight_at(s, global_table, row_at(s, global_table, sample, slot, seed), column);
  return sum;
}

}  // namespace

CheckResult check_outputs(const Shape& shape, int rank, uint64_t seed, const std::vector<int64_t>& elements,
                          const std::vector<float>& values) {
  const size_t workers = std::clamp<size_t>(std::thread::hardware_concurrency(), 1, 32);
  std::vector<CheckResult> partial(workers);
  std::vector<std::thread> threads;
  for (size_t w = 0; w < workers; ++w) {
    threads.emplace_back([&, w] {
      CheckResult& mine = partial[w];
      for (size_t i = w; i < elements.size(); i += workers) {
        const double want = expected(shape, rank, seed, elements[i]);
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
