// The benchmark of tiles that workgroups store from shared memory between spins, as a fused product does.
#include <algorithm>
#include <stdexcept>

#include "app/evidence/microbench/bench.hpp"

namespace moire::microbench {

namespace {

constexpr double tile_bytes = 128 * 256 * 2;
constexpr std::uint32_t turns = 20;  // of a workgroup: a spin and a tile, as in the collector

// When a turn ends; the rows of the measurements have these as numbers. It ends when shared memory is free again, when
// the tile is written, or when a fence and the increment of a counter have followed.
enum Wait : std::int64_t { free, written, counted };

// Fills `phase` with a step of a workgroup. Of a turn these are the spin, the bytes for which the workgroup waits,
// those that are on their way when shared memory is free, and the wait until the tile is written or counted.
bool turn(const machine::GpuSpec& gpu, Time spin, std::int64_t wait, Rank peer, std::uint32_t step, Phase& phase) {
  const double under_way = wait == free ? std::min(tile_bytes, gpu.port.store_window_per_cu.value) : 0;
  switch (step % 4) {
    case 0:
      return step < 4 * turns && delay(phase, spin);
    case 1:
      return work(phase, tile_bytes - under_way, peer);
    case 2:
      phase.posted = true;
      return work(phase, under_way, peer);
    default:
      if (wait == free) return true;
      phase.kind = wait == counted ? Phase::Kind::fence : Phase::Kind::delay;
      phase.duration = gpu.l2.hit_latency + (wait == counted ? gpu.port.fence : Time{});
      return true;
  }
}

Values epilogue(const SystemSpec& system, const Parameters& parameters) {
  const bool remote = number(parameters, "remote") != 0;
  const std::int64_t senders = positive_count(parameters, "senders"), wgs = positive_count(parameters, "wgs");
  const std::int64_t wait = count(parameters, "wait");
  if (wait > counted) throw std::invalid_argument("wait must be 0, 1 or 2");
  const Time spin = Time::from_us(number(parameters, "spin_us"));
  const SystemSpec node = one_node(system);
  const machine::GpuSpec& gpu = node.node.gpu;
  need_gpus(node, std::max<std::int64_t>(2, senders));
  PhaseShape store;
  store.name = "store";
  (remote ? store.peer_write : store.write) = 1;
  store.in_flight = Bytes{tile_bytes};
  const auto ranks = static_cast<Rank>(node.node.gpus);
  program::Program program(ranks);
  program.queues = {
      queue("main", {kernel(
                        "tiles", gpu, spread(gpu, wgs),
                        [=](Rank rank) { return static_cast<std::int64_t>(rank) < senders ? wgs : 0; }, {store},
                        [=, &gpu](Rank rank, std::int64_t, std::uint32_t step, Phase& phase) {
                          return turn(gpu, spin, wait, remote ? (rank + 1) % ranks : rank, step, phase);
                        })})};
  Stamps stamps;
  simulate(node, program, &stamps);
  double sum = 0, slowest = 0;
  for (Rank rank = 0; rank < static_cast<Rank>(senders); ++rank) {
    for (const Stamps::Stamp& stamp : stamps.of("tiles", rank)) {
      const double over = (stamp.end - stamp.begin).ns() / turns - spin.ns();
      sum += over;
      slowest = std::max(slowest, over);
    }
  }
  return {{"over_spin", sum / static_cast<double>(senders * wgs)}, {"over_spin_slowest", slowest}};
}

}  // namespace

std::vector<Benchmark> epilogue_benchmarks() {
  return {{"peer_epilogue",
           "Tiles that workgroups store from shared memory between spins, as a fused product does.",
           {{"remote", "senders", "wgs", "spin_us", "wait"}},
           {{"over_spin", "ns"}, {"over_spin_slowest", "ns"}},
           epilogue}};
}

}  // namespace moire::microbench
