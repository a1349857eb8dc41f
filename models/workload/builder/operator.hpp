// An operator declares itself in the file that implements it. The declaration has its name, its spec, the functions
// that parse, check and append it, and the keys that a search may vary. models/workload/operators lists all operators.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/workload/builder/builder.hpp"
#include "sim/config/config.hpp"
#include "sim/config/problem.hpp"
#include "sim/program/wg_trace.hpp"

namespace moire::builder {

// A key that changes how an operator does its work but not the result. `moire advise` tries its values.
struct Knob {
  std::string key;
  std::vector<std::string> values;
  std::string usual;                 // value if the key is absent; "" if this value depends on other keys
  std::string only_key, only_value;  // `key` applies only if `only_key` has the value `only_value`
};

// Returns keys and values of the operator that follow from the header of a WG trace; empty if the header lacks them.
using KeysOfTrace = std::vector<std::pair<std::string, std::string>> (*)(const program::WgTraceHeader&);

struct Operator {
  std::string name;                                // its key in a scenario
  void (*describe)(config::Catalogue&) = nullptr;  // adds the operator's spec to the catalogue
  // Parses the operator's mapping and appends its operations. Returns false after reporting errors.
  std::function<bool(const config::Node&, Builder&, config::Diagnostics&)> append;
  std::vector<Knob> knobs{};
  KeysOfTrace keys_of_trace = nullptr;  // set if WG traces record the operator's kernel
  // Set for collectives: returns the Exchange of a mapping that was appended. The caller fills in the queue and the
  // operations of the Exchange.
  std::function<Exchange(const config::Node&, const libraries::EquippedSystem&)> exchange{};
};

// Makes an operator that reads files, or reports errors at places inside its mapping. `append` returns false after
// reporting errors.
template <class Spec>
Operator make_operator(std::string name,
                       bool (*append)(Builder&, const Spec&, const config::Node&, config::Diagnostics&)) {
  return {.name = std::move(name),
          .describe = [](config::Catalogue& catalogue) { catalogue.add<Spec>(); },
          .append =
              [append](const config::Node& node, Builder& build, config::Diagnostics& diagnostics) {
                const std::optional<Spec> spec = config::parse<Spec>(node, diagnostics, nullptr, build.path);
                return spec && append(build, *spec, node, diagnostics);
              }};
}

// Makes an operator whose whole input is its spec. `check` returns the problem of a spec that does not fit the machine.
template <class Spec>
Operator make_operator(std::string name, void (*append)(Builder&, const Spec&),
                       std::optional<config::Problem> (*check)(const Spec&,
                                                               const libraries::EquippedSystem&) = nullptr) {
  return {.name = std::move(name),
          .describe = [](config::Catalogue& catalogue) { catalogue.add<Spec>(); },
          .append =
              [append, check](const config::Node& node, Builder& build, config::Diagnostics& diagnostics) {
                const std::optional<Spec> spec = config::parse<Spec>(node, diagnostics, nullptr, build.path);
                if (!spec) return false;
                if (const auto problem = check ? check(*spec, build.system) : std::nullopt) {
                  diagnostics.error(node.place, *problem);
                  return false;
                }
                append(build, *spec);
                return true;
              }};
}

}  // namespace moire::builder
