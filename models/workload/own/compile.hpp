// From the spec of a kernel to its script and the demands of its phases.
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

// The names that formulas of all workgroups may use, `let` included; nothing, and the reasons in `diagnostics`, where
// one of those is wrong.
std::optional<Names> constants_of(const OwnKernelSpec& spec, const builder::Builder& build,
                                  const program::WorkgroupResources& resources, const config::Node& node,
                                  config::Diagnostics& diagnostics);

inline constexpr double most_demand = 1e18;  // of a phase, or a name

// What a formula of constants is, between `low` and `high`.
std::optional<double> constant(const FormulaText& text, std::string_view key, const Names& constants, double low,
                               double high, config::Diagnostics& diagnostics);

std::optional<Compiled> compile(const OwnKernelSpec& spec, const builder::Builder& build, const Names& constants,
                                std::int64_t workgroups, const std::vector<NamedFlags>& flags, const config::Node& node,
                                config::Diagnostics& diagnostics);

}  // namespace moire::own
