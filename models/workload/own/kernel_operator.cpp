// The operator `kernel`: adds the flags of a kernel, compiles its steps to a script and checks the script.
#include <cmath>

#include "models/workload/own/compile.hpp"
#include "models/workload/own/operators.hpp"

namespace moire::own {

namespace {

constexpr double most_workgroups = 1e9;
constexpr double most_flags = 2e7;  // over all ranks

bool append(builder::Builder& build, const OwnKernelSpec& spec, const config::Node& node,
            config::Diagnostics& diagnostics) {
  const std::size_t before = diagnostics.size();
  program::Kernel kernel;
  kernel.name = build.unique(spec.name);
  kernel.resources = {spec.threads, spec.registers_per_thread, spec.lds, spec.cluster};
  const std::optional<Names> constants = constants_of(spec, build, kernel.resources, node, diagnostics);
  if (!constants) return false;
  const auto workgroups = constant(spec.workgroups, "workgroups", *constants, 1, most_workgroups, diagnostics);
  const auto raised = std::make_shared<std::vector<program::Rank>>();
  std::vector<NamedFlags> flags;
  for (const auto& [name, count] : spec.flags) {
    const double most = std::floor(most_flags / static_cast<double>(build.ranks()));
    const auto per_rank = constant(count, name, *constants, 1, most, diagnostics);
    if (!per_rank) continue;
    const auto each = static_cast<std::uint32_t>(*per_rank);
    flags.push_back(
        {name, build.program.add_flags({kernel.name + "." + name, each,
                                        [raised, each, name = kernel.name, begin = build.program.flag_count()](
                                            program::Rank rank, std::uint32_t index) {
                                          const std::size_t at = std::size_t{begin} + rank * each + index;
                                          const bool known = at < raised->size();
                                          return std::pair{known ? (*raised)[at] : rank, name};
                                        }})});
  }
  if (!workgroups || diagnostics.size() > before) return false;
  auto compiled = compile(spec, build, *constants, static_cast<std::int64_t>(*workgroups), flags, node, diagnostics);
  if (!compiled) return false;
  check(*compiled->script, build.program, *raised, diagnostics);
  if (diagnostics.size() > before) return false;
  kernel.shapes = std::move(compiled->shapes);
  kernel.body = std::make_shared<ScriptBody>(compiled->script);
  build.queue.operations.emplace_back(std::move(kernel));
  return true;
}

}  // namespace

builder::Operator kernel_operator() { return builder::make_operator<OwnKernelSpec>("kernel", append); }

}  // namespace moire::own
