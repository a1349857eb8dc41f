#include "models/machine/phase_class.hpp"

#include <algorithm>

#include "sim/core/invariant.hpp"

namespace moire::models::machine {

namespace {

struct Loop {
  double window;  // bytes
  double delay;   // seconds a window takes beside the latency
};

// What a byte takes of a memory that also turns between reads and writes, over what it takes alone.
double turning(const GpuSpec& gpu, const program::PhaseShape& shape) {
  double stores = shape.mixed_stores;
  if (stores < 0) {
    const double stored = shape.write + shape.peer_write;
    const double moved = shape.read * shape.read_miss * shape.read_overfetch + stored;
    stores = moved > 0 ? stored / moved : 0;
  }
  return 1 + gpu.hbm.turnaround * 4 * stores * (1 - stores);
}

// A workgroup that waits for each batch of loads. The batch takes the latency of its first byte and the wavefronts'
// time for the rest; loads that others depend on take a latency each in which nothing else is in flight. All of it per
// latency: a task of n batches and one dependent load has n / (n + 1) of a batch in flight.
Loop batches(const GpuSpec& gpu, const program::PhaseShape& shape, double led) {
  const double batch = shape.in_flight.value;
  const double batches_per_unit = led / batch;
  const double latencies = 1 + shape.dependent_loads / batches_per_unit;  // of a batch
  // One after the other: a wavefront's random rows come back one by one, a run of addresses at the CU's rate.
  double rate = gpu.compute.load_store_per_cu.value;
  if (shape.random_rows && gpu.compute.load_per_wavefront) {
    const auto wavefronts = static_cast<double>((shape.threads + gpu.compute.wavefront - 1) / gpu.compute.wavefront);
    rate = std::min(rate, wavefronts * gpu.compute.load_per_wavefront->value);
  }
  const double delay = batch / rate + shape.pause.seconds() / batches_per_unit;
  return {batch / latencies, delay / latencies};
}

}  // namespace

core::ClassSpec phase_class(const Machine& machine, const program::PhaseShape& shape, Rank rank, Rank peer,
                            const CuLoad& load) {
  const GpuSpec& gpu = machine.gpu();
  const RankCapacities& own = machine.capacities(rank);
  core::ClassSpec spec;
  const double moved = shape.read + shape.write + shape.peer_write;
  if (moved > 0) {
    MOIRE_INVARIANT(shape.in_flight.value > 0, "phase '" + shape.name + "' moves data with no bytes in flight");
    const double share = shape.in_flight.value / std::max(load.in_flight, shape.in_flight.value);
    const double most = gpu.compute.bytes_in_flight_per_cu.value * load.port_share * share;
    const double turn = turning(gpu, shape);
    // What is in flight are loads; a copy's stores ride along. Without loads it is the stores.
    const double led = shape.read > 0 ? shape.read : shape.write > 0 ? shape.write : shape.peer_write;
    // The CU's time for a unit of work: loads, and stores at their own cost.
    const double cu_bytes = shape.read + gpu.compute.store_cost * (shape.write + shape.peer_write);
    spec.bound = gpu.compute.load_store_per_cu.value * share / cu_bytes;
    if (shape.read + shape.write > 0) {
      const double missed = shape.read > 0 ? shape.read_miss : 1;
      spec.latency = missed * gpu.hbm.unloaded_latency.seconds() + (1 - missed) * gpu.l2.hit_latency.seconds();
      spec.latency_capacity = own.hbm;
    } else {
      spec.latency = gpu.port.store_latency.seconds();
    }
    const Loop loop = shape.pipelined ? Loop{shape.in_flight.value, 0} : batches(gpu, shape, led);
    spec.window = std::min(loop.window, most) / led;
    spec.weight = spec.window;
    if (loop.window <= most) {
      spec.delay = loop.delay;
    } else {
      // The CU's other workgroups fill the time in which this one requests nothing.
      spec.bound = std::min(spec.bound, loop.window / led / (spec.latency + loop.delay));
    }
    if (shape.peer_write > 0) {
      const double peer_window = gpu.port.store_window_per_cu.value * share;  // posted: not bound by the loads
      spec.bound = std::min(spec.bound, peer_window / gpu.port.store_latency.seconds() / shape.peer_write);
      machine.add_store_path(rank, peer, shape.peer_write, spec.demands, Machine::Mover::cu, turn);
    }
    if (shape.read + shape.write > 0) spec.demands.push_back({own.l2, shape.read + shape.write});
    const double hbm = shape.read * shape.read_miss * shape.read_overfetch + shape.write * gpu.hbm.write_cost;
    if (hbm > 0) spec.demands.push_back({own.hbm, hbm * turn});
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
