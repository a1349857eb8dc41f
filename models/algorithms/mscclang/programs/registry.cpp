#include "models/algorithms/mscclang/programs/registry.hpp"

#include <algorithm>

#include "models/algorithms/mscclang/programs/entry.hpp"

namespace moire::mscclang {

namespace {

constexpr std::int64_t most_ranks = 1024;

const Family& family() {
  static const Family all = [] {
    Family made;
    add_all_reduce(made);
    add_all_reduce_nodes(made);
    add_all_gather(made);
    add_reduce_scatter(made);
    add_all_to_all(made);
    add_all_to_next(made);
    add_rooted(made);
    return made;
  }();
  return all;
}

}  // namespace

const std::vector<ProgramEntry>& programs() { return family().entries; }

const ProgramEntry* find_program(std::string_view name) {
  const auto& all = programs();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const ProgramEntry& entry) { return entry.name == name; });
  return found == all.end() ? nullptr : &*found;
}

void describe(config::Catalogue& catalogue) {
  for (const auto& add : family().specs) add(catalogue);
}

Refusal power_of_two(const Ranks& ranks) {
  const std::int32_t n = ranks.all();
  if (n >= 2 && (n & (n - 1)) == 0) return std::nullopt;
  return fmt::format("over {} GPUs, but the number must be a power of two, 2 or more", n);
}

Refusal at_most(const Ranks& ranks, std::int32_t most) {
  if (ranks.all() <= most) return std::nullopt;
  return fmt::format(
      "over {} GPUs, but only {} are possible: a GPU needs a thread block for every other GPU, all resident at once",
      ranks.all(), most);
}

std::optional<Ranks> ranks_of(const CommonSpec& spec, Shape shape, const config::Node& node,
                              config::Diagnostics& diagnostics) {
  const std::int64_t nodes = spec.nodes.value_or(shape.nodes);
  const std::int64_t gpus = spec.gpus_per_node.value_or(shape.gpus_per_node);
  if (nodes >= 1 && gpus >= 1 && nodes <= most_ranks && gpus <= most_ranks && nodes * gpus >= 2 &&
      nodes * gpus <= most_ranks) {
    return Ranks{static_cast<std::int32_t>(nodes), static_cast<std::int32_t>(gpus)};
  }
  diagnostics.error(node.place, fmt::format("the program is for {} nodes of {} GPUs", nodes, gpus),
                    fmt::format("write nodes and gpus_per_node for 2 to {} GPUs in all", most_ranks));
  return std::nullopt;
}

Options options_of(const CommonSpec& spec, std::string name, ir::Collective collective, const Ranks& ranks,
                   std::int32_t chunk_factor) {
  Options options;
  options.name = std::move(name);
  options.collective = collective;
  options.ranks = ranks.all();
  options.chunk_factor = chunk_factor;
  options.protocol = spec.protocol;
  options.instances = static_cast<std::int32_t>(spec.instances);
  if (spec.min_bytes) options.min_bytes = static_cast<std::uint64_t>(spec.min_bytes->value);
  if (spec.max_bytes) options.max_bytes = static_cast<std::uint64_t>(spec.max_bytes->value);
  return options;
}

std::optional<msccl::Algorithm> report(const std::function<msccl::Algorithm()>& make, const config::Node& node,
                                       config::Diagnostics& diagnostics) {
  try {
    return make();
  } catch (const ProgramError& error) {
    diagnostics.error(node.place, error.problem);
    return std::nullopt;
  }
}

}  // namespace moire::mscclang
