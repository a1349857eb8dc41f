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

}  // namespace

Fold fold_of(const machine::Machine& machine, const program::Program& program) {
  const machine::SystemSpec& system = machine.spec();
  const auto nodes = static_cast<program::Rank>(system.nodes);
  const auto gpus = static_cast<program::Rank>(system.node.gpus);
  auto& networks = machine.service<part::Networks>();
  Fold fold;
  for (program::Rank block = 1; block < nodes; ++block) {
    if (nodes % block != 0) continue;
    std::string why;
    if (networks.networks() > 0 && !networks.topology().turns(block * static_cast<program::Rank>(system.node.nics))) {
      why = fmt::format("the fabric is not the same {} node{} on", block, block == 1 ? "" : "s");
    } else {
      why = program::keeps_from_turning(program, block * gpus);
    }
    if (why.empty()) {
      fold.images = nodes / block;
      fold.certain = networks.networks() == 0 ||
                     !any_link_stays(networks.topology(), block * static_cast<program::Rank>(system.node.nics));
      return fold;
    }
    if (fold.why_not.empty()) fold.why_not = std::move(why);
  }
  return fold;
}

Folded run_folded(const Fold& fold, const std::function<std::unique_ptr<machine::Machine>(program::Rank)>& build,
                  const program::Program& program, program::Observer* observer) {
  Fold all;
  if (fold.images > 1 && observer != nullptr && !fold.certain) {
    all.why_not = "a timeline shows all ranks where only the run tells whether it folds";
  } else if (fold.images > 1) {
    Folded block{build(fold.images), {}, fold};
    try {
      block.result = Replay(*block.machine, program, observer).run();
      if (block.result.deadlock.empty()) return block;
      all.why_not = "it hangs";
    } catch (const core::NotAlike& shared) {
      all.why_not = shared.what();
    }
    observer = nullptr;
  } else {
    all = fold;
  }
  Folded whole{build(1), {}, all};
  whole.result = Replay(*whole.machine, program, observer).run();
  return whole;
}

}  // namespace moire::replay
