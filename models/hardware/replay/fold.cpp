#include "models/hardware/replay/fold.hpp"

#include <fmt/format.h>

#include "sim/core/failure.hpp"
#include "sim/program/turn.hpp"

namespace moire::replay {

namespace {

bool any_link_stays(const core::Topology& topology, core::EndpointId by) {
  for (core::LinkId link = 0; link < topology.links().size(); ++link)
    if (topology.turned(link, by) == link) return true;
  return false;
}

std::string nodes_text(program::Rank block) { return block == 1 ? "node" : fmt::format("{} nodes", block); }

// Returns an empty string if every rank, NIC and link is as late or slow as the corresponding rank, NIC or link `block`
// nodes further on. Otherwise returns the reason why the blocks cannot be folded.
std::string keeps_uneven(const machine::SystemSpec& system, const core::Topology* topology, program::Rank block) {
  if (!system.uneven) return {};
  const part::Uneven& uneven = *system.uneven;
  const auto differ = [](const auto& values, std::size_t by) {
    for (std::size_t i = 0; i < values.size(); ++i)
      if (values[i] != values[(i + by) % values.size()]) return true;
    return false;
  };
  const auto ranks = block * static_cast<program::Rank>(system.node.gpus);
  const auto nics = block * static_cast<program::Rank>(system.node.nics);
  const auto said = [&](const char* what) { return fmt::format("{} do not repeat every {}", what, nodes_text(block)); };
  if (differ(uneven.start, ranks)) return said("starts (perturb.start)");
  if (differ(uneven.clock, ranks)) return said("clocks of GPUs (perturb.gpus)");
  if (differ(uneven.port, ranks)) return said("scale-up links (perturb.ports)");
  if (differ(uneven.nic, nics)) return said("NICs (perturb.nics)");
  for (core::LinkId link = 0; link < uneven.link.size(); ++link)
    if (uneven.link[link] != uneven.link[topology->turned(link, nics)]) return said("links (perturb.links)");
  return {};
}

// Returns an empty string if one block of `block` nodes can be simulated for all blocks. Otherwise returns the reason
// why not.
std::string keeps_from_folding(const machine::SystemSpec& system, const core::Topology* topology,
                               const program::Program& program, program::Rank block) {
  if (std::string why = keeps_uneven(system, topology, block); !why.empty()) return why;
  if (topology != nullptr && !topology->turns(block * static_cast<program::Rank>(system.node.nics)))
    return fmt::format("the fabric does not repeat every {}", nodes_text(block));
  return program::keeps_from_turning(program, block * static_cast<program::Rank>(system.node.gpus));
}

using Build = std::function<std::unique_ptr<machine::Machine>(program::Rank)>;

// Finds the smallest block of nodes that can be simulated for all blocks inside a block of `nodes` nodes. Returns
// `nodes` if there is none.
program::Rank smallest_inside(const machine::SystemSpec& system, const program::Program& program, program::Rank nodes) {
  const auto gpus = static_cast<program::Rank>(system.node.gpus);
  for (program::Rank block = 1; block < nodes; ++block)
    if (nodes % block == 0 && program::keeps_from_turning(program, block * gpus, nodes * gpus).empty()) return block;
  return nodes;
}

// Simulates kernels that every rank runs by itself on one rank only (stand_in.cpp). If other ranks interfere, repeats
// the run and simulates these kernels on all ranks.
void run_on(program::Rank images, const Build& build_machine, const program::Program& program,
            program::Observer* observer, const std::vector<bool>& watched, Folded& folded) {
  const auto build = [&](program::Rank blocks) {
    auto machine = build_machine(blocks);
    if (!folded.fold.circle.empty()) machine->set_circle(core::Circle(folded.fold.circle));
    return machine;
  };
  folded.machine = build(images);
  try {
    folded.result = Replay(*folded.machine, program, observer, watched, Likes::one).run();
  } catch (const NotByItself&) {
    folded.machine = build(images);
    folded.result = Replay(*folded.machine, program, observer, watched).run();
  }
}

}  // namespace

Fold fold_of(const machine::Machine& machine, const program::Program& program) {
  const machine::SystemSpec& system = machine.spec();
  const auto nodes = static_cast<program::Rank>(system.nodes);
  const auto& networks = machine.service<part::Networks>();
  const core::Topology* topology = networks.networks() > 0 ? &networks.topology() : nullptr;
  Fold fold;
  for (program::Rank block = 1; block < nodes; ++block) {
    if (nodes % block != 0) continue;
    std::string why = keeps_from_folding(system, topology, program, block);
    if (why.empty()) {
      const auto gpus = static_cast<program::Rank>(system.node.gpus),
                 nics = static_cast<program::Rank>(system.node.nics);
      fold.certain = topology == nullptr || !any_link_stays(*topology, block * nics);
      if (topology != nullptr && topology->any_order(nics) && !system.uneven) {
        fold.circle = {nodes * gpus};
        for (program::Rank inside; (inside = smallest_inside(system, program, block)) < block; block = inside)
          fold.circle.insert(fold.circle.begin(), block * gpus);
      }
      fold.images = nodes / block;
      return fold;
    }
    if (fold.why_not.empty()) fold.why_not = std::move(why);
  }
  return fold;
}

Folded run_folded(const Fold& fold, const std::function<std::unique_ptr<machine::Machine>(program::Rank)>& build,
                  const program::Program& program, program::Observer* observer, const std::vector<bool>& watched) {
  Fold all;
  all.circle = fold.circle;
  if (fold.images > 1 && observer != nullptr && !fold.certain) {
    all.why_not = "a timeline is written, and only the run itself can show whether folding is possible";
  } else if (fold.images > 1) {
    Folded block{nullptr, {}, fold};
    try {
      run_on(fold.images, build, program, observer, watched, block);
      if (block.result.deadlock.empty()) return block;
      all.why_not = "the run deadlocks";
    } catch (const core::NotAlike& shared) {
      all.why_not = shared.what();
    }
    observer = nullptr;
  } else {
    all = fold;
  }
  Folded whole{nullptr, {}, all};
  run_on(1, build, program, observer, watched, whole);
  return whole;
}

}  // namespace moire::replay
