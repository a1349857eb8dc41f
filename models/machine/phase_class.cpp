#include "models/machine/phase_class.hpp"

#include <algorithm>
#include <limits>

#include "sim/core/invariant.hpp"

namespace moire::models::machine {

core::ClassSpec phase_class(const Machine& machine, const program::PhaseShape& shape, Rank rank, Rank peer,
                            const CuLoad& load) {
  const GpuSpec& gpu = machine.gpu();
  const RankCapacities& own = machine.capacities(rank);
  core::ClassSpec spec;
  const double moved = shape.read + shape.write + shape.peer_write;
  if (moved > 0) {
    MOIRE_INVARIANT(shape.in_flight.value > 0, "phase '" + shape.name + "' moves data with no bytes in flight");
    const double share = shape.in_flight.value / std::max(load.in_flight, shape.in_flight.value);
    const double window = std::min(shape.in_flight.value, gpu.compute.bytes_in_flight_per_cu.value * share);
    // What is in flight are loads; a copy's stores ride along. Without loads it is the stores.
    const double led = shape.read > 0 ? shape.read : shape.write > 0 ? shape.write : shape.peer_write;
    spec.weight = window / led;
    spec.window = window / led;
    // The CU's time for a unit of work: loads, and stores at their own cost.
    const double peer_store_cost = gpu.compute.peer_store_cost.value_or(gpu.compute.store_cost);
    const double cu_bytes = shape.read + gpu.compute.store_cost * shape.write + peer_store_cost * shape.peer_write;
    spec.bound = gpu.compute.load_store_per_cu.value * share / cu_bytes;
    if (shape.read + shape.write > 0) {
      const double missed = shape.read > 0 ? shape.read_miss : 1;
      spec.latency = missed * gpu.hbm.unloaded_latency.seconds() + (1 - missed) * gpu.l2.hit_latency.seconds();
      spec.latency_capacity = own.hbm;
    } else {
      spec.latency = gpu.port.store_latency.seconds();
    }
    // A batch that is waited for takes the latency of its first byte and the CU's time for the rest.
    if (!shape.pipelined) spec.latency += window / gpu.compute.load_store_per_cu.value;
    if (shape.peer_write > 0) {
      // Stores of what was loaded are posted: how much is loaded ahead does not limit them.
      const double stored = shape.read > 0 ? std::numeric_limits<double>::infinity() : shape.in_flight.value;
      const double peer_window = std::min(stored, gpu.port.store_window_per_cu.value * share);
      spec.bound = std::min(spec.bound, peer_window / gpu.port.store_latency.seconds() / shape.peer_write);
      machine.add_store_path(rank, peer, shape.peer_write, spec.demands, Machine::Mover::cu, shape.link_cost);
    }
    if (shape.read + shape.write > 0) spec.demands.push_back({own.l2, shape.read + shape.write});
    const double hbm = shape.read * shape.read_miss * shape.read_overfetch + shape.write * gpu.hbm.write_cost;
    if (hbm > 0) spec.demands.push_back({own.hbm, hbm});
  }
  if (shape.flop > 0) {
    const double whole = shape.unit == program::Arithmetic::matrix_16bit
                             ? gpu.compute.matrix_16bit.value * gpu.compute.matrix_efficiency
                             : gpu.compute.vector_fp32.value;
    const double cu = whole / static_cast<double>(gpu.compute.total_cus());
    spec.bound = std::min(spec.bound, cu / std::max(1U, load.computing) / shape.flop);
  }
  return spec;
}

}  // namespace moire::models::machine
