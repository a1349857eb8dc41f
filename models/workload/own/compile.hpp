// Compiles the spec of a custom kernel into its script and the resource demands of its phases.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "models/workload/builder/builder.hpp"
#include "models/workload/own/script.hpp"
#include "models/workload/own/spec.hpp"

namespace moire::own {

struct Compiled {
  std::shared_ptr<const Script> script;
  std::vector<program::PhaseShape> shapes;
};

struct NamedFlags {
  std::string name;
  program::FlagBlock block;
};

// Returns the names that have the same value for all workgroups, including the names of the kernel's `let`. If there
// are errors, reports them and returns nothing.
std::optional<Names> constants_of(const OwnKernelSpec& spec, const builder::Builder& build,
                                  const program::WorkgroupResources& resources, const config::Node& node,
                                  config::Diagnostics& diagnostics);

inline constexpr double most_demand = 1e18;  // largest demand of a phase, and largest value of a `let`

// Returns the value of a formula of constants. If the value is outside [low, high], reports an error and returns
// nothing.
std::optional<double> constant(const FormulaText& text, std::string_view key, const Names& constants, double low,
                               double high, config::Diagnostics& diagnostics);

std::optional<Compiled> compile(const OwnKernelSpec& spec, const builder::Builder& build, const Names& constants,
                                std::int64_t workgroups, const std::vector<NamedFlags>& flags, const config::Node& node,
                                config::Diagnostics& diagnostics);

}  // namespace moire::own
