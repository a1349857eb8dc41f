// Keys that several groups of a validation file share. Each entry of `shared` is a part:
//
//   shared:
//     operator: {scenario: ..., measured: {file: operator.csv, unit: us}, case: name, set: {...}}
//   groups:
//     - {name: fused, like: operator, measured: {value: fused_us}, set: {...}}
//
// A group with `like: PART` gets the keys of that part. If the part and the group have the same map (`measured`, `set`,
// `limits`), its entries are joined. The part's entries come first, and the group's values take precedence. The order
// matters in `set`: a change of 'system' undoes earlier changes of 'system.nodes'. Therefore the group's change of
// 'system' is moved before the part's changes of 'system.nodes' and of other paths inside 'system'.
#pragma once

#include "sim/config/config.hpp"

namespace moire::validate {

// Adds to each group of a file the keys of the part that its `like` names. Reports an error for a part that is not a
// map, for a part that no group uses, and for a `like` that names no part.
void complete_groups(config::Node& file, config::Diagnostics& diagnostics);

// Returns the spec of a group or a file. Reports all errors. Unknown keys are then ignored, so that the caller gets a
// spec and can check the rest of the file. Returns nothing if there are other errors.
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
