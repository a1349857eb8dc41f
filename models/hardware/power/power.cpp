#include "models/hardware/power/power.hpp"

#include <fmt/format.h>

namespace moire::power {

const part::Declaration& declaration() {
  static const part::Declaration declared{.name = "power"};
  return declared;
}

Power::Power(part::Site& site, const PowerSpec& spec, PerSecond clock, double share) : site_(site), spec_(spec) {
  for (part::Rank rank = 0; rank < site.ranks(); ++rank) {
    const double own = share * part::Uneven::share(site.uneven().clock, rank);
    Gpu& gpu = gpus_.emplace_back();
    gpu.operated = own;
    set_voltage(gpu);
    gpu.power = site.add_meter(rank, {fmt::format("rank {} power", rank), spec.cap.value});
    gpu.matrix = site.add_meter(rank, {fmt::format("rank {} matrix arithmetic", rank)});
    gpu.occupied = site.add_meter(rank, {fmt::format("rank {} CUs with workgroups", rank)});
    site.sharing().add_level(gpu.power, spec.idle.value);
    gpu.hertz = clock.value * own;
    gpu.clock = site.add_meter(rank, {fmt::format("rank {} clock", rank), clock.value});
    site.sharing().add_level(gpu.clock, gpu.hertz);
  }
}

void Power::add(part::Rank rank, double joules, core::ClassSpec& spec) const {
  if (joules > 0) spec.metered.push_back({gpus_[rank].power, joules});
}

void Power::meter(const part::PhaseUse& use, core::ClassSpec& spec) const {
  const program::PhaseShape& shape = use.shape;
  const Gpu& own = gpus_[use.rank];
  const bool matrix = shape.flop > 0 && shape.unit == program::Arithmetic::matrix_16bit;
  // Digits that never change toggle no wires in the matrix units or on the way to them.
  const double toggled = matrix ? spec_.matrix_quiet + (1 - spec_.matrix_quiet) * shape.power : 1;
  if (matrix) spec.metered.push_back({own.matrix, shape.flop});
  const double flop = (matrix ? spec_.matrix_flop : spec_.vector_flop).value;
  const double bytes = shape.read + shape.write + shape.peer_write + shape.peer_read;
  const double missed = shape.fetched();
  const double core = (flop * shape.flop + spec_.l2_byte.value * bytes) * own.voltage;
  const double memory =
      spec_.hbm_read_byte.value * missed + spec_.hbm_write_byte.value * shape.write * shape.write_miss;
  add(use.rank, toggled * (core + memory), spec);
  if (shape.peer_write + shape.peer_read == 0) return;
  // Adds the energy at a peer: link, L2 and memory.
  const auto at_peer = [&](part::Rank peer) {
    add(peer,
        (shape.peer_write + shape.peer_read) * (spec_.link_byte.value + spec_.l2_byte.value * gpus_[peer].voltage) +
            spec_.hbm_write_byte.value * shape.peer_write * shape.write_miss +
            spec_.hbm_read_byte.value * shape.peer_read,
        spec);
  };
  add(use.rank, (shape.peer_write + shape.peer_read) * spec_.link_byte.value, spec);
  if (!shape.by_switch) return at_peer(use.peer);
  const part::Reach& reach = site_.reach();
  const part::Rank first = reach.node_of(use.rank) * reach.gpus_per_node();
  for (part::Rank gpu = first; gpu < first + reach.gpus_per_node(); ++gpu) at_peer(gpu);
}

void Power::use(const part::CopyUse& use, core::ClassSpec& spec) const {
  const auto cached = [&] {
    for (const part::Shared* shared : site_.shared())
      if (shared->stays_in_cache(use)) return true;
    return false;
  };
  const double memory = use.within_gpu() && cached() ? 0 : 1;
  const double link = use.peer == use.rank ? 0 : spec_.link_byte.value;
  const double read = use.ratio > 0 ? 1 / use.ratio : 1;
  if (use.way != program::Transfer::Way::from_host)
    add(use.rank, read * (spec_.l2_byte.value * gpus_[use.rank].voltage + memory * spec_.hbm_read_byte.value) + link,
        spec);
  if (use.way != program::Transfer::Way::to_host)
    add(use.peer, spec_.l2_byte.value * gpus_[use.peer].voltage + memory * spec_.hbm_write_byte.value + link, spec);
}

void Power::occupied(part::Rank rank, bool is) {
  Gpu& gpu = gpus_[rank];
  gpu.busy += is ? 1 : -1;
  site_.sharing().add_level(gpu.power, is ? gpu.busy_cu : -gpu.busy_cu);
  site_.sharing().add_level(gpu.occupied, is ? 1 : -1);
}

// Sets the voltage of the clock at which the GPU runs now, and the power of a busy CU at this voltage.
void Power::set_voltage(Gpu& gpu) const {
  const double clock = gpu.operated * gpu.left;
  gpu.voltage = spec_.voltage_squared(clock);
  gpu.busy_cu = spec_.busy_cu.value * clock * gpu.voltage;
}

void Power::clock_left(part::Rank rank, double share) {
  Gpu& gpu = gpus_[rank];
  site_.sharing().add_level(gpu.clock, gpu.hertz * (share - gpu.left));
  gpu.left = share;
  const double before = gpu.busy_cu;
  set_voltage(gpu);
  site_.sharing().add_level(gpu.power, gpu.busy * (gpu.busy_cu - before));
}

part::Meters::Drawn Power::drawn(part::Rank rank, Time end) const {
  const core::Sharing& sharing = site_.sharing();
  // Subtracts the idle energy after `end`: the loop may run on for events that do not belong to the program.
  const double after = (site_.loop().now() - end).seconds() * spec_.idle.value;
  return {sharing.counted(gpus_[rank].power) - after, sharing.highest_level(gpus_[rank].power),
          sharing.counted(gpus_[rank].matrix), sharing.counted(gpus_[rank].occupied)};
}

}  // namespace moire::power
