// A group that compares a recorded WG trace with its simulation, workgroup by workgroup:
//
//   - name: balanced shape
//     trace: ../traces/h200x4/operator/balanced_16t_8k.wgtrace.csv.zst
//     scenario: ../configs/scenarios/embedding_h200.yaml
//     shape: program.queues.main.0.embedding_all_to_all     # this operator takes its sizes from the trace's header
//     limits: {makespan_error_percent: 10 %}
#pragma once

#include "app/evidence/validate/group.hpp"

namespace moire::validate {

struct TraceGroupSpec {
  std::string name;
  std::string like;
  std::filesystem::path trace;
  config::Node scenario;
  std::string shape;
  std::vector<std::pair<std::string, config::Node>> set;
  std::vector<std::pair<std::string, config::Node>> limits;
  static void describe(config::Describer<TraceGroupSpec>& d);
};

std::unique_ptr<Group> read_trace_group(const config::Node& node, const std::string& path, const Loading& loading,
                                        config::Diagnostics& diagnostics);

}  // namespace moire::validate
