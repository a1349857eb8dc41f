// The list of all kinds of groups.
#include "app/evidence/validate/group.hpp"
#include "app/evidence/validate/measurements_group.hpp"
#include "app/evidence/validate/scenario_group.hpp"
#include "app/evidence/validate/trace_group.hpp"

namespace moire::validate {

const std::vector<GroupKind>& group_kinds() {
  static const std::vector<GroupKind> kinds = {
      {"measurements", [](config::Catalogue& catalogue) { catalogue.add<MeasurementsGroupSpec>(); },
       read_measurements_group},
      {"trace", [](config::Catalogue& catalogue) { catalogue.add<TraceGroupSpec>(); }, read_trace_group},
      {"measured", [](config::Catalogue& catalogue) { catalogue.add<ScenarioGroupSpec>(); }, read_scenario_group},
  };
  return kinds;
}

}  // namespace moire::validate
