// What several groups of a validation file have in common, written once:
//
//   shared:
//     operator: {scenario: ..., measured: {file: operator.csv, unit: us}, case: name, set: {...}}
//   groups:
//     - {name: fused, like: operator, measured: {value: fused_us}, set: {...}}
//
// A group gets the keys of the part that it is like. Where both have a map (`measured`, `set`, `limits`) it gets the
// part's entries before its own; what both say, the group's own counts. In `set` a change of a whole ('system') stands
// before changes of its parts ('system.nodes') whoever says it, so that neither takes back the other.
#pragma once

#include "sim/config/config.hpp"

namespace moire::validate {

// Gives each group of a file the keys of its part. Tells parts that are no maps, that no group is like, or that there
// are not.
void complete_groups(config::Node& file, config::Diagnostics& diagnostics);

// The spec of a group or a file as far as it can be read: unknown keys are told, and then ignored, so that what is
// wrong with the others is told beside them.
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
