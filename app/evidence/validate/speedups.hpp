// Speed-ups: how many times faster the cases of some groups are than an alternative. The measured times of a case and
// of its alternative are in the same row of a table.
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
  std::vector<std::size_t> of;  // indices of the groups
  Limits limits;
};

// Returns for each case a measured and a simulated speed-up: the measured value of the alternative, divided by the
// measured and by the simulated value of the case.
GroupResult speedup(const Speedup& spec, const std::vector<GroupResult>& groups);

}  // namespace moire::validate
