#include "models/hardware/cu/phase_class.hpp"

#include <algorithm>

#include "models/hardware/cu/instructions.hpp"
#include "sim/core/invariant.hpp"
#include "sim/core/power.hpp"

namespace moire::cu {

namespace {

// The loop of a workgroup that requests bytes and waits for them.
struct Loop {
  double window;   // bytes requested per iteration
  double time;     // seconds per iteration on an idle machine
  double waits;    // queueing delay of an iteration in a loaded memory / mean queueing delay of one load
  double slowest;  // latency of the slowest load of an iteration on an idle machine, in seconds
};

double wavefronts_of(const CuArraySpec& compute, const program::PhaseShape& shape) {
  return static_cast<double>(compute.wavefronts(shape.active_threads > 0 ? shape.active_threads : shape.threads));
}

// Returns the seconds in which a CU requests `rows` random rows.
double request_time(const CuArraySpec& compute, double rows, double clock) {
  return compute.clocks_per_row ? rows * *compute.clocks_per_row / (compute.clock.value * clock) : 0;
}

// Returns the bytes that all threads load in one dependent load.
double dependent_bytes(const program::PhaseShape& shape) {
  return shape.dependent_loads > 0 ? shape.dependent_read / shape.dependent_loads : 0;
}

// Returns the share of the loads of a batch that miss the caches. Dependent loads always miss. `led` as in batches().
double missed_by_batches(const program::PhaseShape& shape, double led, const part::Latency& latency) {
  if (shape.dependent_read <= 0) return latency.missed;
  return std::clamp((latency.missed * led - shape.dependent_read) / (led - shape.dependent_read), 0.0, 1.0);
}

// Returns the bytes of a load instruction of a wavefront; the widest load has 16 B per lane.
double load_instruction(const CuArraySpec& compute) { return static_cast<double>(compute.wavefront) * 16; }

// Returns the latency of the slowest load of a batch among those of `wavefronts` wavefronts, in seconds, on an idle
// machine. Random rows are independent loads. Of contiguous addresses, only the lines of the first load instruction are
// independent, because the other lines arrive along with them.
double slowest_load(const CuArraySpec& compute, const program::PhaseShape& shape, const part::Latency& latency,
                    double wavefronts) {
  if (latency.spread <= 0) return latency.mean();
  const double instruction = load_instruction(compute);
  const double own = shape.in_flight.value / wavefronts_of(compute, shape);
  const double apart = shape.random_rows ? std::max(1.0, own / instruction) : 1;  // loads that hit or miss separately
  const double lines = (shape.random_rows ? own : std::min(own, instruction)) / latency.line;
  const double all_hit = latency.missed < 1 ? core::power(1 - latency.missed, wavefronts * apart) : 0;
  const double longer = core::logarithm(std::max(1.0, wavefronts * lines * latency.missed));
  return all_hit * latency.hit + (1 - all_hit) * (latency.miss + latency.spread * longer);
}

// Returns the loop of a workgroup that waits for each batch of loads. `led`: bytes per unit of work that count as in
// flight. A wavefront's part of a batch takes the latency of its slowest load plus the longer of two times: that in
// which the wavefront issues all its loads, and that in which the CU requests the rows of the batch. In a loaded memory
// every line waits in a queue, and the longest of n exponentially distributed waits is about 1 + ln n times the mean.
// Dependent loads come before the batches, with nothing else in flight; all wavefronts wait for the slowest line of
// each of them. Instructions wait for loads and loads for instructions, so their times add up. `computing`: workgroups
// of the CU that wait for its issue slots.
Loop batches(const CuArraySpec& compute, const program::PhaseShape& shape, double led, part::Latency latency,
             double clock, std::uint32_t computing) {
  double single = latency.mean();
  double single_waits = 1;
  const double rows = led - shape.dependent_read;
  if (const double bytes = dependent_bytes(shape); bytes > 0) {
    const double lines = std::max(1.0, bytes / latency.line);
    single = latency.miss + latency.spread * core::logarithm(lines);
    single_waits = 1 + core::logarithm(lines);
  }
  latency.missed = missed_by_batches(shape, led, latency);
  const double batch = shape.in_flight.value;
  const double wavefronts = wavefronts_of(compute, shape);
  const double own = batch / wavefronts;
  const double rate =
      compute.load_per_wavefront ? compute.load_per_wavefront->value : compute.load_store_per_cu.value / wavefronts;
  // A wavefront that waits for its first row waits for those lines of it that its first load instruction requests.
  const double of_row = std::max(1.0, std::min(shape.row.value, load_instruction(compute)) / latency.line);
  const double first_row = latency.mean() + latency.missed * latency.spread * core::logarithm(of_row);
  double waits = 1;
  if (latency.spread > 0) waits += core::logarithm(std::max(1.0, own / latency.line * latency.missed));
  const double slowest = slowest_load(compute, shape, latency, 1);
  // A workgroup that gathers stores its results when it has all rows, and loads the next rows after that. Stores of a
  // copy, in contrast, are issued while the next batch is on its way.
  const double peer_cost = compute.peer_store_cost.value_or(compute.store_cost);
  const double stored = shape.random_rows ? compute.store_cost * shape.write + peer_cost * shape.peer_write : 0;
  const double stores = shape.issue_cost * stored / (compute.load_store_per_cu.value * clock);
  const double batches_per_unit = rows / batch;
  const double before = shape.dependent_loads / batches_per_unit;
  const double between = shape.pause.seconds() + stores;
  const double issue = own / (rate * clock) + issue_time(compute, shape, clock) / batches_per_unit;
  const double requests = shape.row.value > 0 ? request_time(compute, batch / shape.row.value, clock) : 0;
  const double popular = batch * shape.slice_wait;
  const double again = shape.row_waits / batches_per_unit;
  const double time =
      slowest + std::max(issue, requests) + popular + before * single + again * first_row + between / batches_per_unit;
  waits += before * single_waits + again * (latency.spread > 0 ? 1 + core::logarithm(of_row) : 1);
  return {led / batches_per_unit, time + wait_for_slots(compute, shape, 1 / batches_per_unit, time, clock, computing),
          waits, slowest};
}

}  // namespace

double clock_share(const CuArraySpec& compute, double power) {
  if (!compute.matrix_clock || power <= 0) return 1;
  const double all = compute.matrix_clock->value / compute.clock.value;
  return std::min(1.0, all * core::power(static_cast<double>(compute.total_cus()) / power, 1.0 / 3));
}

double first_arrival(const CuArraySpec& compute, const part::Site& site, const program::PhaseShape& shape,
                     std::uint32_t queue) {
  if (shape.read * shape.read_miss <= 0) return 0;
  part::Latency latency;
  for (const part::Shared* shared : site.shared()) shared->latency({shape, 0, 0, queue, 1}, latency);
  return shape.pipelined ? latency.mean() : batches(compute, shape, shape.read, latency, 1, 1).slowest;
}

Time straggling(const CuArraySpec& compute, const part::Site& site, const program::PhaseShape& shape,
                std::uint32_t queue, double workgroups) {
  if (shape.pipelined || !shape.random_rows || shape.read * shape.read_miss <= 0) return Time{};
  part::Latency latency;
  for (const part::Shared* shared : site.shared()) shared->latency({shape, 0, 0, queue, 1}, latency);
  latency.missed = missed_by_batches(shape, shape.read + shape.peer_read, latency);
  const double last = slowest_load(compute, shape, latency, wavefronts_of(compute, shape) * workgroups);
  return Time::from_seconds(std::max(0.0, last - slowest_load(compute, shape, latency, 1)));
}

double held_for(const program::PhaseShape& shape, std::uint32_t in_step) {
  const double held = shape.held.seconds();
  if (shape.held_each <= 0) return held;
  return std::max(held, std::min(shape.held_in_step.seconds() + shape.held_each * in_step, shape.held_most.seconds()));
}

core::ClassSpec phase_class(const CuArraySpec& compute, const part::Site& site, const program::PhaseShape& shape,
                            part::Rank rank, part::Rank peer, const CuLoad& load, std::uint32_t queue) {
  core::ClassSpec spec;
  const double clock = load.clock * load.beside_matrix;
  bool limited = shape.instructions.all > 0 && compute.issue_per_clock;  // by issue slots
  const double moved = shape.read + shape.write + shape.peer_write + shape.peer_read;
  if (moved > 0) {
    MOIRE_INVARIANT(shape.in_flight.value > 0, "phase '" + shape.name + "' moves data with no bytes in flight");
    const double share = shape.in_flight.value / std::max(load.in_flight, shape.in_flight.value);
    const part::PhaseUse use{shape, rank, peer, queue, share};
    const double most = compute.bytes_in_flight_per_cu.value * share;
    // The bytes in flight are those of the loads (a copy's stores follow its loads) or, without loads, of the stores.
    const double loaded = shape.read + shape.peer_read;
    const double led = loaded > 0 ? loaded : shape.write > 0 ? shape.write : shape.peer_write;
    // CU time per unit of work, expressed in bytes of plain loads. A stored byte counts its cost relative to a load,
    // and short rows count as many bytes as the CU loads in the time in which it requests them.
    const double peer_store_cost = compute.peer_store_cost.value_or(compute.store_cost);
    const double as_bytes = request_time(compute, shape.requested_rows(), 1) * compute.load_store_per_cu.value;
    const double cu_bytes = shape.issue_cost * (std::max(loaded, as_bytes) + compute.store_cost * shape.write +
                                                peer_store_cost * shape.peer_write);
    spec.bound = compute.load_store_per_cu.value * clock * share / cu_bytes;
    part::Latency latency;
    for (const part::Shared* shared : site.shared()) shared->latency(use, latency);
    spec.latency_capacity = latency.capacity;
    const double single = latency.mean();
    const double held = held_for(shape, load.in_step);
    const Loop loop = shape.pipelined ? Loop{shape.in_flight.value, single + held, 1, single}
                                      : batches(compute, shape, led, latency, clock, load.computing);
    // Only the queued part of the latency (Latency::stretched) grows with load. The rest is a fixed time per batch.
    spec.latency = latency.stretched > 0 ? latency.stretched : single;
    // The time of the batches limits the rate if a batch fits into the workgroup's share of the CU's bytes in flight,
    // or if whole batches give a lower rate than this share of the bytes in flight.
    const double in_time = std::max(spec.latency * loop.waits, single);
    const bool in_batches = loop.window <= most || loop.window / loop.time <= most / in_time;
    limited = limited && (shape.pipelined || !in_batches);  // the time of a batch contains the wait for slots
    spec.window = (in_batches ? loop.window : most) / loop.waits / led;
    // If the time of the batches does not limit the rate, the CU's bytes in flight do. There is no delay then, because
    // other workgroups of the CU use the time in which this workgroup requests nothing.
    spec.delay = std::max(0.0, (in_batches ? loop.time : single) / loop.waits - spec.latency);
    if (spec.delay < 1e-15) spec.delay = 0;  // rounding error
    spec.weight = std::min(loop.window, most) / loop.waits / led * load.port_share;
    spec.in_turn = !shape.pipelined && shape.read > 0 && (shape.write + shape.peer_write > 0 || limited);
    if (load.group_in_flight > 0 && loaded > 0) {  // stores go another way
      const double most_in_flight = std::max(shape.in_flight.value, dependent_bytes(shape));
      const double of_group = std::min(1.0, most_in_flight / load.group_in_flight);
      const double of_group_bytes = led - shape.read * shape.read_merged;
      spec.bound = std::min(spec.bound, compute.load_per_group->value * of_group / of_group_bytes);
    }
    for (const part::Shared* shared : site.shared()) shared->use(use, spec);
  }
  if (limited) {
    const double rate = *compute.issue_per_clock * compute.clock.value * clock / std::max(1U, load.computing);
    spec.bound = std::min(spec.bound, rate / shape.instructions.all);
  }
  if (const double own = issue_time(compute, shape, clock); own > 0) spec.bound = std::min(spec.bound, 1 / own);
  if (shape.flop > 0) {
    const bool matrix = shape.unit == program::Arithmetic::matrix_16bit;
    const double whole = matrix ? compute.matrix_16bit.value * compute.matrix_efficiency : compute.vector_fp32.value;
    const double cu = whole * (matrix ? load.clock : clock) / static_cast<double>(compute.total_cus());
    const double share = matrix && load.computing_share > 0 ? load.computing_share : 1.0 / std::max(1U, load.computing);
    spec.bound = std::min(spec.bound, cu * share / shape.flop);
  }
  for (const part::Shared* shared : site.shared()) shared->meter({shape, rank, peer, queue}, spec);
  return spec;
}

}  // namespace moire::cu
