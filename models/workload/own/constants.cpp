// Evaluates names and formulas whose values are the same for all workgroups.
#include <fmt/format.h>

#include "models/workload/own/compile.hpp"

namespace moire::own {

std::optional<double> constant(const FormulaText& text, std::string_view key, const Names& constants, double low,
                               double high, config::Diagnostics& diagnostics) {
  const auto formula = Formula::compile(text, key, constants, diagnostics);
  if (!formula) return std::nullopt;
  const double value = formula->value();
  if (value >= low && value <= high) return value;
  diagnostics.error(text.place, fmt::format("'{}' is {:.10g}", key, value),
                    fmt::format("it must be {:.10g} to {:.10g}", low, high));
  return std::nullopt;
}

std::optional<Names> constants_of(const OwnKernelSpec& spec, const builder::Builder& build,
                                  const program::WorkgroupResources& resources, const config::Node& node,
                                  config::Diagnostics& diagnostics) {
  std::optional<Names> made(std::in_place);
  std::string why;
  const auto add = [&](const char* name, auto value) { made->add(name, static_cast<double>(value), why); };
  add("ranks", build.ranks());
  add("nodes", build.system.nodes);
  add("gpus", build.system.node.gpus);
  add("cus", build.cus());
  add("resident", builder::resident_workgroups(build, resources));
  const config::Node* let = node.find("let");
  bool good = true;
  for (std::size_t i = 0; i < spec.let.size(); ++i) {
    const auto& [name, text] = spec.let[i];
    const auto value = constant(text, name, *made, -most_demand, most_demand, diagnostics);
    good = good && value.has_value();
    if (!value || made->add(name, *value, why) != nullptr) continue;
    diagnostics.error(let->entries[i].key_place, why, "use another name");
    good = false;
  }
  if (!good) made.reset();
  return made;
}

}  // namespace moire::own
