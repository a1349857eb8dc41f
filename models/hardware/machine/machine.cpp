#include "models/hardware/machine/machine.hpp"

#include "models/hardware/machine/parts.hpp"
#include "sim/core/log.hpp"

namespace moire::machine {

std::unique_ptr<Machine> Machine::build(const SystemSpec& spec, core::RunLoop& loop, config::Problem& error,
                                        const Apart& apart, Rank images) {
  std::unique_ptr<Machine> machine(new Machine(spec, loop, apart, images));
  for (const RegisteredPart& registered : parts()) {
    std::unique_ptr<part::Part> part = registered.make(machine->spec_, machine->site_, error);
    if (!part) return nullptr;
    machine->site_.add(std::move(part));
  }
  for (const auto& part : machine->site_.parts()) part->connect();
  core::log_debug("a machine of {} ranks is built", machine->ranks());
  return machine;
}

std::unique_ptr<Machine> Machine::build(const SystemSpec& spec, config::Problem& error, const Apart& apart,
                                        Rank images) {
  auto loop = std::make_unique<core::RunLoop>();
  auto machine = build(spec, *loop, error, apart, images);
  if (machine) machine->own_loop_ = std::move(loop);
  return machine;
}

Machine::Machine(const SystemSpec& spec, core::RunLoop& loop, const Apart& apart, Rank images)
    : spec_(spec),
      site_(loop, static_cast<Rank>(spec.ranks()) / images, images, spec.node.reach(), apart, spec.uneven),
      circle_({static_cast<Rank>(spec.ranks())}) {
  MOIRE_INVARIANT(spec.nodes % images == 0, "blocks of ranks that are no whole nodes");
  for (Rank rank = 0; rank < ranks() && !site_.uneven().clock.empty(); ++rank)
    slow_.push_back(gpu().at_clock(site_.uneven().clock[rank]));
}

void Machine::set_circle(core::Circle of_ranks) {
  circle_ = std::move(of_ranks);
  if (auto* networks = site_.find<part::Networks>()) networks->set_circle(circle_);
}

void Machine::run() {
  auto* networks = site_.find<part::Networks>();
  if (networks == nullptr || !networks->run()) loop().run();
}

}  // namespace moire::machine
