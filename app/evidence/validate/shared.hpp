// Parts that several groups of a validation file share:
//
//   shared:
//     operator: {scenario: ..., measured: {file: operator.csv, unit: us}, case: name, set: {...}}
//   groups:
//     - {name: fused, like: operator, measured: {value: fused_us}, set: {...}}
//
// A group with `like: PART` gets the keys of that part. If both have a map (`measured`, `set`, `limits`), the part's
// entries come before the group's own, and the group's values take precedence. In `set`, a change of 'system' would
// undo earlier changes of 'system.nodes'. Therefore a change of a whole always precedes changes of its parts.
#pragma once

#include "sim/config/config.hpp"

namespace moire::validate {

// Adds to each group of a file the keys of the part that its `like` names. Reports parts that are not maps, parts that
// no group uses, and missing parts.
void complete_groups(config::Node& file, config::Diagnostics& diagnostics);

// Parses the spec of a group or a file as far as possible: unknown keys are reported and then ignored, so that errors
// in other keys are reported, too.
template <config::Described Spec>
std::optional<Spec> parse_known(const config::Node& node, config::Diagnostics& diagnostics,
                                const std::string& path = {}) {
  if (auto spec = config::parse<Spec>(node, diagnostics, nullptr, path)) return spec;
  config::Node known = node;
  std::erase_if(known.entries, [](const auto& entry) { return !config::description<Spec>().find(entry.key); });
  config::Diagnostics told;
  return config::parse<Spec>(known, told, nullptr, path);
}

}  // namespace moire::validate
