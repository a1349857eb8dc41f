// What an operator says of itself, once, in the file that has it: its name, its spec, how it is read, checked against
// the machine and appended, and what a search may change of it. models/workload/operators lists them.
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

// A key of an operator that changes how its work is done, not what it does: what a search for a schedule may try.
struct Knob {
  std::string key;
  std::vector<std::string> values;
  std::string usual;                 // what holds where the key is absent; "" where that depends
  std::string only_key, only_value;  // it means something only with this value of another key
};

// Keys and their values, as a trace's header tells them; empty where it does not.
using KeysOfTrace = std::vector<std::pair<std::string, std::string>> (*)(const program::WgTraceHeader&);

struct Operator {
  std::string name;                                // key in the scenario
  void (*describe)(config::Catalogue&) = nullptr;  // adds its spec
  // Parses the operator's mapping and appends its operations; false after reporting what is wrong with it.
  std::function<bool(const config::Node&, Builder&, config::Diagnostics&)> append;
  std::vector<Knob> knobs{};
  KeysOfTrace keys_of_trace = nullptr;  // of an operator whose kernel is recorded in WG traces
  // Of a collective: size and on_wire, for a mapping that was appended.
  std::function<Exchange(const config::Node&, const libraries::EquippedSystem&)> exchange{};
};

// Of an operator that has to tell places inside its mapping, or reads files: false after reporting what is wrong.
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

// Of an operator whose whole input is its spec: `check` says what does not fit the machine.
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
