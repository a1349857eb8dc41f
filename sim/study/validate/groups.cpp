// The kinds of groups.
#include "sim/study/validate/group.hpp"
#include "sim/study/validate/measurements_group.hpp"
#include "sim/study/validate/scenario_group.hpp"
#include "sim/study/validate/trace_group.hpp"

namespace moire::study::validate {

const std::vector<GroupKind>& group_kinds() {
  static const std::vector<GroupKind> kinds = {
      {"measurements", [](config::Catalogue& catalogue) { catalogue.add<MeasurementsGroupSpec>(); },
       read_measurements_group},
      {"trace", [](config::Catalogue& catalogue) { catalogue.add<TraceGroupSpec>(); }, read_trace_group},
      {"measured", [](config::Catalogue& catalogue) { catalogue.add<ScenarioGroupSpec>(); }, read_scenario_group},
  };
  return kinds;
}

}  // namespace moire::study::validate
