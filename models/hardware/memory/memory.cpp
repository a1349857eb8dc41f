#include "models/hardware/memory/memory.hpp"

#include <fmt/format.h>

#include "sim/config/units.hpp"
#include "sim/core/power.hpp"

namespace moire::memory {

namespace {

// Share of the unloaded latency that grows with the load of the memory, if the GPU's file has a latency_spread. This
// share is the time in the queues of the memory. The number was chosen together with the curve of the loaded latency,
// and no microbenchmark measures it separately.
constexpr double queued_share = 0.25;

double queued_part(const HbmSpec& hbm) { return hbm.latency_spread.ps > 0 ? queued_share : 1; }

// Returns the memory time per byte with turnarounds between reads and writes, relative to the time without turnarounds.
double turning(const HbmSpec& hbm, const program::PhaseShape& shape) {
  double stores = shape.mixed_stores;
  if (stores < 0) {
    const double stored = (shape.write + shape.peer_write) * shape.write_miss;
    const double moved = shape.fetched() + stored;
    stores = moved > 0 ? stored / moved : 0;
  }
  double turns = shape.random_rows ? hbm.turnaround_gathers : 1;
  if (shape.walk == program::Walk::in_order) turns = hbm.turnaround_in_order;
  if (shape.walk == program::Walk::in_strides) turns = hbm.turnaround_in_strides;
  const double mix = 4 * stores * (1 - stores);
  return mix > 0 ? 1 + turns * hbm.turnaround * core::power(mix, hbm.turnaround_exponent) : 1;
}

}  // namespace

const part::Declaration& declaration() {
  static const part::Declaration declared{
      .name = "memory",
      .occupied = {{"hbm_busy_percent", "Time that the HBM was in use, over the time of the run; mean over ranks"}},
      .blame = {{.key = "memory",
                 .lost = "memory",
                 .meaning = "Time lost to sharing caches and HBM: to their bandwidth and to the latency under load"}},
      .follows = {
          {"gpu.l2.bandwidth", "gpu.compute.clock", 1, "the bytes per clock stay the same"},
          {"gpu.l2.slice_bandwidth", "gpu.compute.clock", 1, "the bytes per clock stay the same"},
          {"gpu.l2.slice_bandwidth_apart", "gpu.compute.clock", 1, "the bytes per clock stay the same"},
          {"gpu.l2.hit_latency", "gpu.compute.clock", -1, "the clock cycles of a hit stay the same"},
          {"gpu.l2.bandwidth", "gpu.compute.group_count", 1, "every group adds its own cache", "gpu.l2.in_groups"},
          {"gpu.l2.capacity", "gpu.compute.group_count", 1, "every group adds its own cache", "gpu.l2.in_groups"},
          {"gpu.hbm.bandwidth", "gpu.hbm.peak", 1, "streams reach the same share of the peak"}}};
  return declared;
}

std::vector<part::Limit> limits(const CacheSpec& l2, const HbmSpec& hbm) {
  if (hbm.bandwidth <= l2.bandwidth) return {};
  return {{"node.gpu.hbm.bandwidth", "node.gpu.l2.bandwidth", config::format_quantity(l2.bandwidth)},
          {"node.gpu.hbm.peak", "node.gpu.l2.bandwidth", config::format_quantity(l2.bandwidth)}};
}

Memory::Memory(part::Site& site, const CacheSpec& l2, const HbmSpec& hbm)
    : site_(site), l2_(l2), hbm_(hbm), apart_(site.apart().has("memory")) {
  for (std::uint32_t copy = 0; copy < site.copies("memory"); ++copy) {
    for (part::Rank rank = 0; rank < site.ranks(); ++rank) {
      Capacities& own = capacities_.emplace_back();
      const double clock = part::Uneven::share(site.uneven().clock, rank);
      const CacheSpec of_rank = clock == 1 ? l2 : l2.at_clock(clock);
      own.l2 = site.add_capacity(rank, {fmt::format("rank {} L2", rank), of_rank.bandwidth.value});
      own.hit = of_rank.hit_latency.seconds();
      own.hbm = site.add_capacity(rank, {fmt::format("rank {} HBM", rank), hbm.bandwidth.value,
                                         hbm.latency_growth / queued_part(hbm), hbm.latency_exponent});
      if (hbm.random_access_rate)
        own.rows = site.add_capacity(rank, {fmt::format("rank {} HBM rows", rank), hbm.random_access_rate->value});
    }
  }
}

std::vector<double> Memory::occupied(Time end) const {
  const std::vector<double> served = site_.sharing().served();
  double busy = 0;
  for (const Capacities& own : capacities_) {
    busy += served[own.hbm] / (hbm_.bandwidth.value * end.seconds()) / site_.ranks();
  }
  return {busy};
}

std::vector<core::CapacityId> Memory::memories(part::Rank rank) const {
  std::vector<core::CapacityId> all;
  for (std::size_t i = rank; i < capacities_.size(); i += site_.ranks()) all.push_back(capacities_[i].hbm);
  return all;
}

void Memory::latency(const part::PhaseUse& use, part::Latency& latency) const {
  const program::PhaseShape& shape = use.shape;
  latency.spread = hbm_.latency_spread.seconds();
  latency.line = l2_.line.value;
  if (shape.peer_read > 0) {
    latency.capacity = of(use.peer, use.queue).hbm;
  } else if (shape.read + shape.write > 0) {
    latency.hit = of(use.rank, use.queue).hit;
    latency.miss = hbm_.unloaded_latency.seconds();
    latency.missed = shape.read > 0 ? shape.read_miss : 1;
    latency.capacity = of(use.rank, use.queue).hbm;
  }
  const double queued = queued_part(hbm_);
  if (latency.capacity != core::no_id && queued < 1) latency.stretched = hbm_.unloaded_latency.seconds() * queued;
}

void Memory::use(const part::PhaseUse& use, core::ClassSpec& spec) const {
  const program::PhaseShape& shape = use.shape;
  const double turn = turning(hbm_, shape);
  const double stored = shape.peer_write * hbm_.write_cost * (turn * shape.write_miss);
  const auto peer_moves = [&](part::Rank peer) {
    if (stored > 0) spec.demands.push_back({of(peer, use.queue).hbm, stored});
    if (shape.peer_read > 0) spec.demands.push_back({of(peer, use.queue).hbm, shape.peer_read});
  };
  if (shape.by_switch) {
    const part::Reach& reach = site_.reach();
    const part::Rank first = reach.node_of(use.rank) * reach.gpus_per_node();
    for (part::Rank gpu = first; gpu < first + reach.gpus_per_node(); ++gpu) peer_moves(gpu);
  } else {
    peer_moves(use.peer);
  }
  const Capacities& own = of(use.rank, use.queue);
  const double cached = shape.read * (1 - shape.read_merged) + shape.write + shape.l2_extra;
  if (cached > 0) spec.demands.push_back({own.l2, cached});
  const double moved = shape.fetched() + shape.write * shape.write_miss * hbm_.write_cost;
  if (moved > 0) spec.demands.push_back({own.hbm, moved * turn});
  if (own.rows != core::no_id && shape.rows() > 0) spec.demands.push_back({own.rows, shape.rows()});
}

// True for a copy within the GPU that ran just before and left all its bytes in the L2: the source in every partition,
// and the destination. No byte of the copy then reaches the memory.
bool Memory::stays_in_cache(const part::CopyUse& use) const {
  const double copies = static_cast<double>(l2_.partitions) + 1;
  return use.within_gpu() && use.ratio == 0 && use.again && copies * use.bytes.value <= l2_.capacity.value;
}

void Memory::use(const part::CopyUse& use, core::ClassSpec& spec) const {
  const Capacities& own = of(use.rank, use.queue);
  if (use.within_gpu()) {
    const double read = use.ratio > 0 ? 1 / use.ratio : 1;
    spec.demands.push_back({own.l2, read + 1});
    if (!stays_in_cache(use)) spec.demands.push_back({own.hbm, read + hbm_.write_cost});
    return;
  }
  if (use.way != program::Transfer::Way::from_host) spec.demands.push_back({own.hbm, 1});
  if (use.way != program::Transfer::Way::to_host && hbm_.write_cost > 0)
    spec.demands.push_back({of(use.peer, use.queue).hbm, hbm_.write_cost});
}

}  // namespace moire::memory
