// Speed-ups: how many times faster the cases of some groups are than an alternative measured in the same rows.
//
//   speedups:
//     - {name: over NCCL, of: [small, large], limits: {case: 15 %}}
//
// Each group in `of` names the column with the measured values of the alternative:
// `measured: {..., value: msccl_us, reference: nccl_us}`.
#pragma once

#include "app/evidence/validate/group.hpp"
#include "app/evidence/validate/limits.hpp"

namespace moire::validate {

struct SpeedupSpec {
  std::string name;
  std::vector<std::string> of;
  LimitsSpec limits;
  static void describe(config::Describer<SpeedupSpec>& d);
};

struct Speedup {
  std::string name;
  std::vector<std::size_t> of;  // numbers of the groups
  Limits limits;
};

// Computes for each case the measured speed-up, reference / measured value, and the simulated speed-up, reference /
// simulated value.
GroupResult speedup(const Speedup& spec, const std::vector<GroupResult>& groups);

}  // namespace moire::validate
