#include "models/hardware/machine/phase_class.hpp"

#include <algorithm>

#include "sim/core/invariant.hpp"
#include "sim/core/power.hpp"

namespace moire::machine {

namespace {

// How a workgroup asks for bytes again and again.
struct Loop {
  double window;  // bytes
  double time;    // seconds until it asks again, idle machine
  double waits;   // how often that holds what a single load waits in a loaded memory
};

// What a byte takes of a memory that also turns between reads and writes, over what it takes alone.
double turning(const GpuSpec& gpu, const program::PhaseShape& shape) {
  double stores = shape.mixed_stores;
  if (stores < 0) {
    const double stored = (shape.write + shape.peer_write) * shape.written_back;
    const double moved = shape.read * shape.read_miss * shape.read_overfetch + stored;
    stores = moved > 0 ? stored / moved : 0;
  }
  const double mix = 4 * stores * (1 - stores);
  return mix > 0 ? 1 + shape.turns * gpu.hbm.turnaround * core::power(mix, gpu.hbm.turnaround_exponent) : 1;
}

// Latency of one load of a phase.
struct Latency {
  double hit;
  double miss;
  double missed;  // share
};

// A workgroup that waits for each batch of loads. A wavefront's batch takes the latency of the slowest of its loads and
// the wavefront's time for all of them. Random rows come from anywhere in memory; of a run of addresses the first
// instruction's lines do, and the others ride along. In a loaded memory every line waits in a queue of its own, and the
// longest of n exponential waits is 1 + ln n of them. Loads that others depend on take a latency each in which nothing
// else is in flight.
Loop batches(const GpuSpec& gpu, const program::PhaseShape& shape, double led, const Latency& latency, double clock) {
  const double batch = shape.in_flight.value;
  const std::int64_t threads = shape.active_threads > 0 ? shape.active_threads : shape.threads;
  const auto wavefronts = static_cast<double>((threads + gpu.compute.wavefront - 1) / gpu.compute.wavefront);
  const double instruction = static_cast<double>(gpu.compute.wavefront) * 16;  // bytes; the widest load is 16 a lane
  const double own = batch / wavefronts;
  const double rate = gpu.compute.load_per_wavefront ? gpu.compute.load_per_wavefront->value
                                                     : gpu.compute.load_store_per_cu.value / wavefronts;
  double slowest = latency.missed * latency.miss + (1 - latency.missed) * latency.hit;
  double waits = 1;
  if (gpu.hbm.latency_spread.ps > 0) {
    const double apart = shape.random_rows ? std::max(1.0, own / instruction) : 1;  // what hits or misses by itself
    const double lines = own / gpu.l2.line.value;
    const double spread = shape.random_rows ? lines : std::min(own, instruction) / gpu.l2.line.value;
    const double all_hit = latency.missed < 1 ? core::power(1 - latency.missed, apart) : 0;
    const double longer = core::logarithm(std::max(1.0, spread * latency.missed));
    slowest = all_hit * latency.hit + (1 - all_hit) * (latency.miss + gpu.hbm.latency_spread.seconds() * longer);
    waits = 1 + core::logarithm(std::max(1.0, lines * latency.missed));
  }
  const double batches_per_unit = led / batch;
  const double before = shape.dependent_loads / batches_per_unit;
  const double single = latency.missed * latency.miss + (1 - latency.missed) * latency.hit;
  const double time = slowest + own / (rate * clock) + before * single + shape.pause.seconds() / batches_per_unit;
  return {batch, time, waits + before};
}

}  // namespace

double clock_share(const cu::CuArraySpec& compute, double power) {
  if (!compute.matrix_clock || power <= 0) return 1;
  const double all = compute.matrix_clock->value / compute.clock.value;
  return std::min(1.0, all * core::power(static_cast<double>(compute.total_cus()) / power, 1.0 / 3));
}

core::ClassSpec phase_class(const Machine& machine, const program::PhaseShape& shape, Rank rank, Rank peer,
                            const CuLoad& load, std::uint32_t queue) {
  const GpuSpec& gpu = machine.gpu();
  const RankCapacities& own = machine.capacities(rank, queue);
  core::ClassSpec spec;
  const double moved = shape.read + shape.write + shape.peer_write + shape.peer_read;
  if (moved > 0) {
    MOIRE_INVARIANT(shape.in_flight.value > 0, "phase '" + shape.name + "' moves data with no bytes in flight");
    const double share = shape.in_flight.value / std::max(load.in_flight, shape.in_flight.value);
    const double most = gpu.compute.bytes_in_flight_per_cu.value * share;
    const double turn = turning(gpu, shape);
    // What is in flight are loads; a copy's stores ride along. Without loads it is the stores.
    const double loaded = shape.read + shape.peer_read;
    const double led = loaded > 0 ? loaded : shape.write > 0 ? shape.write : shape.peer_write;
    // The CU's time for a unit of work: loads, and stores at their own cost.
    const double peer_store_cost = gpu.compute.peer_store_cost.value_or(gpu.compute.store_cost);
    const double cu_bytes =
        shape.cu_cost * (loaded + gpu.compute.store_cost * shape.write + peer_store_cost * shape.peer_write);
    spec.bound = gpu.compute.load_store_per_cu.value * load.clock * share / cu_bytes;
    Latency latency{0, gpu.port.store_latency.seconds(), 1};
    if (shape.peer_read > 0) {
      latency.miss = gpu.port.load_latency.value_or(gpu.port.store_latency * 2).seconds();
      spec.latency_capacity = machine.capacities(peer, queue).hbm;
    } else if (shape.read + shape.write > 0) {
      latency = {gpu.l2.hit_latency.seconds(), gpu.hbm.unloaded_latency.seconds(),
                 shape.read > 0 ? shape.read_miss : 1};
      spec.latency_capacity = own.hbm;
    }
    const double single = latency.missed * latency.miss + (1 - latency.missed) * latency.hit;
    const Loop loop = shape.pipelined ? Loop{shape.in_flight.value, single + shape.held.seconds(), 1}
                                      : batches(gpu, shape, led, latency, load.clock);
    // What load stretches is the queued part; the rest is time that a batch spends anyway.
    const bool queued = spec.latency_capacity != core::no_id && machine.queued_part() < 1;
    spec.latency = queued ? gpu.hbm.unloaded_latency.seconds() * machine.queued_part() : single;
    if (loop.window <= most) {
      spec.window = loop.window / loop.waits / led;
      spec.delay = std::max(0.0, loop.time / loop.waits - spec.latency);
    } else {
      // The CU's other workgroups fill the time in which this one requests nothing.
      spec.window = most / loop.waits / led;
      spec.delay = std::max(0.0, single / loop.waits - spec.latency);
      spec.bound = std::min(spec.bound, loop.window / led / loop.time);
    }
    if (spec.delay < 1e-15) spec.delay = 0;
    spec.weight = spec.window * load.port_share;
    spec.in_turn = !shape.pipelined && shape.read > 0 && shape.write + shape.peer_write > 0;
    if (load.group_in_flight > 0) {
      const double of_group = std::min(1.0, shape.in_flight.value / load.group_in_flight);
      spec.bound = std::min(spec.bound, gpu.compute.load_per_group->value * of_group / led);
    }
    if (shape.peer_write > 0) {
      const double peer_window = gpu.port.store_window_per_cu.value * share;  // posted: not bound by the loads
      spec.bound = std::min(spec.bound, peer_window / gpu.port.store_latency.seconds() / shape.peer_write);
      machine.add_store_path(rank, peer, shape.peer_write, spec.demands,
                             {.link = shape.link_cost, .memory = turn * shape.written_back}, queue);
    }
    if (shape.peer_read > 0) machine.add_load_path(rank, peer, shape.peer_read, spec.demands, queue);
    if (shape.read + shape.write > 0) spec.demands.push_back({own.l2, shape.read + shape.write});
    const double hbm =
        shape.read * shape.read_miss * shape.read_overfetch + shape.write * shape.written_back * gpu.hbm.write_cost;
    if (hbm > 0) spec.demands.push_back({own.hbm, hbm * turn});
  }
  if (shape.flop > 0) {
    const double whole = shape.unit == program::Arithmetic::matrix_16bit
                             ? gpu.compute.matrix_16bit.value * gpu.compute.matrix_efficiency
                             : gpu.compute.vector_fp32.value;
    const double cu = whole * load.clock / static_cast<double>(gpu.compute.total_cus());
    spec.bound = std::min(spec.bound, cu / std::max(1U, load.computing) / shape.flop);
  }
  return spec;
}

}  // namespace moire::machine
