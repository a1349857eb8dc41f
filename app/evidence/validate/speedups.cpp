#include "app/evidence/validate/speedups.hpp"

#include <fmt/format.h>

#include "sim/config/suggest.hpp"

namespace moire::validate {

void SpeedupSpec::describe(config::Describer<SpeedupSpec>& d) {
  d.component("speedup", "How many times faster than `measured.reference` the cases of some groups are.");
  d.field("name", &SpeedupSpec::name, "Name of the comparison").example("over NCCL");
  d.field("of", &SpeedupSpec::of, "Groups whose 'measured' names a column 'reference'").example("[small, large]");
  d.field("limits", &SpeedupSpec::limits, "Limits on the errors of the speed-ups").example("{case: 15 %}").optional();
}

GroupResult speedup(const Speedup& spec, const std::vector<GroupResult>& groups) {
  GroupResult result;
  result.name = spec.name;
  result.kind = "speedup";
  std::vector<std::string> names;
  for (const std::size_t number : spec.of) {
    const GroupResult& group = groups[number];
    names.push_back(group.name);
    for (const Case& one : group.cases) {
      if (!one.reference || !one.measured || one.simulated <= 0) {
        result.left_out.push_back(one.name);
        continue;
      }
      Case made;
      made.name = spec.of.size() > 1 ? group.name + ", " + one.name : one.name;
      made.metric = "speedup";
      made.measured = *one.reference / *one.measured;
      made.simulated = *one.reference / one.simulated;
      result.cases.push_back(std::move(made));
    }
  }
  result.about = "speed-up of " + config::join(names) + " over the measured reference";
  result.summarise();
  apply(spec.limits, result);
  return result;
}

}  // namespace moire::validate
