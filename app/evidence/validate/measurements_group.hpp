// A group of microbenchmarks. Every number of a measurements file is a case, whose benchmark is simulated:
//
//   - name: microbenchmarks
//     measurements: ../traces/h200x4/h200x4.measurements.csv
//     system: ../configs/systems/4xh200.yaml
//     library: ../../configs/libraries/nccl.yaml          # needed by nccl_all_to_all
//     benchmarks: [gather, hbm_read]                      # default: all that can be simulated
//     limits: {curve: 5 %, case: 15 %}
#pragma once

#include <optional>

#include "app/evidence/validate/group.hpp"
#include "app/evidence/validate/limits.hpp"
#include "models/workload/libraries/collective_library.hpp"

namespace moire::validate {

struct MeasurementsGroupSpec {
  std::string name;
  std::string like;
  std::filesystem::path measurements;
  config::Node system;
  std::optional<libraries::LibrarySpec> library;
  std::vector<std::string> benchmarks;
  std::vector<std::string> without;
  LimitsSpec limits;
  static void describe(config::Describer<MeasurementsGroupSpec>& d);
};

std::unique_ptr<Group> read_measurements_group(const config::Node& node, const std::string& path,
                                               const Loading& loading, config::Diagnostics& diagnostics);

}  // namespace moire::validate
