// Benchmarks of the arithmetic rate of an SM.
#include <numeric>
#include <stdexcept>

#include "app/evidence/microbench/bench.hpp"

namespace moire::microbench {

namespace {

// Returns the arithmetic rate per SM, in GFLOP/s, while the first `sms` CUs work and the others are idle.
Values flops(const SystemSpec& system, std::int64_t sms, std::int64_t per_cu, program::Arithmetic unit) {
  constexpr double flop_per_wg = 1e9;
  const SystemSpec gpu = one_gpu(system);
  if (sms < 1 || sms > gpu.node.gpu.compute.total_cus())
    throw std::invalid_argument("sms must be 1 to the number of SMs of the GPU");
  PhaseShape shape;
  shape.name = "arithmetic";
  shape.flop = 1;
  shape.unit = unit;
  std::vector<cu::CuId> cus(static_cast<std::size_t>(sms));
  std::iota(cus.begin(), cus.end(), 0);
  const double total = rate(run_on(gpu, cus, per_cu, shape, flop_per_wg), flop_per_wg).total;
  return {{"flops_per_sm", total / static_cast<double>(sms)}};
}

Values vector_rate(const SystemSpec& system, const Parameters& parameters) {
  return flops(system, positive_count(parameters, "sms"), positive_count(parameters, "wgs_per_sm"),
               program::Arithmetic::vector_fp32);
}

Values matrix_rate(const SystemSpec& system, const Parameters& parameters) {
  return flops(system, positive_count(parameters, "sms"), 1, program::Arithmetic::matrix_16bit);
}

}  // namespace

std::vector<Benchmark> rate_benchmarks() {
  const std::vector<Quantity> rate{{"flops_per_sm", "GFLOP/s"}};
  return {{"vector_rate", "fp32 FMA.", {{"sms", "wgs_per_sm"}}, rate, vector_rate},
          {"matrix_rate", "bf16 matrix instructions.", {{"sms"}}, rate, matrix_rate}};
}

}  // namespace moire::microbench
