// Chooses the number of chunks for which the closed form predicts the shortest time, among powers of two and the
// numbers halfway between them.
#include <algorithm>
#include <bit>
#include <cmath>

#include "models/workload/chunked/spec.hpp"

namespace moire::chunked {

namespace {

struct Route {
  double latency;     // of a message, seconds
  double busy;        // part of the latency, in seconds, during which the route carries no other message
  double rate;        // bytes per second
  double stages = 1;  // number of times that a message is stored before it is there, each at `rate`
};

Time command_of(const machine::GpuSpec& gpu) {
  // The values of first_command and switch_command were measured between two events and include their time; a host
  // thread records no events.
  return std::max(Time{}, gpu.dma.first_command - gpu.host.event_pair);
}

Route inside(const machine::GpuSpec& gpu) {
  const double links = static_cast<double>(gpu.port.links) * gpu.port.link_bandwidth.value;
  return {(gpu.host.copy_time() + command_of(gpu) + gpu.host.copy_seen).seconds(),
          gpu.dma.switch_time(gpu.host.event_pair).seconds() /
              static_cast<double>(std::min(gpu.dma.engines, gpu.dma.peer_concurrency)),
          std::min(gpu.dma.bandwidth.value, links)};
}

// A copy into the memory of the host and another out of it, each by an engine of its own.
Route through(const host::MemorySpec& memory, const machine::GpuSpec& gpu) {
  return {(gpu.host.copy_time() + command_of(gpu) + memory.hand_over + gpu.host.copy_seen).seconds(),
          std::max(memory.switch_command, gpu.dma.next_command).seconds(),
          std::min(memory.slot_out.value, memory.slot_in.value), 2};
}

Route between(const nic::NicSpec& nic) {
  const Time fixed = nic.wqe_build + nic.proxy_latency + nic.proxy_time + nic.doorbell + nic.pcie_latency +
                     nic.latency * 2 + nic.flag_latency;
  const double busy = 2 / nic.message_rate.value;
  return {fixed.seconds() + busy, busy, std::min(nic.pcie_bandwidth.value, nic.wire_bandwidth().value)};
}

// Times in seconds of a hop, of a call of the codec and of a call of the kernel that adds. A call includes the time of
// the host.
struct Costs {
  const ChunkedSpec& spec;
  const Shape& shape;
  const libraries::EquippedSystem& system;
  codec::Part part = part_of(spec, Plan(shape), 0);

  bool by_host() const { return spec.path == Path::host; }
  Route route(bool leaves) const {
    if (leaves && system.node.nic) return between(*system.node.nic);
    return by_host() ? through(*system.node.host_memory, system.node.gpu) : inside(system.node.gpu);
  }
  bool coded(bool leaves) const { return shape.compression != Compression::off && (!shape.between_nodes || leaves); }
  double wire(bool leaves) const {
    return (coded(leaves) ? codec::compressed(part).value : part.bytes) / route(leaves).rate;
  }
  double hop(bool leaves) const { return route(leaves).latency + route(leaves).stages * wire(leaves); }
  // Returns the part of a hop, in seconds, that a rank's streams cannot overlap: the time of the engine or NIC, or the
  // host's time to enqueue a copy and `kernels` kernels, whichever is longer.
  double alone(bool leaves, int kernels) const {
    const host::HostSpec& host = system.node.gpu.host;
    const Time send = host.copy_time() + (by_host() && !leaves ? system.node.host_memory->calls : Time{});
    return std::max(route(leaves).busy + wire(leaves), (send + host.enqueue * kernels).seconds());
  }
  double call(codec::Work work) const {
    const machine::GpuSpec& gpu = system.node.gpu;
    return (gpu.host.enqueue + gpu.host.kernel_start + spec.codec->call + spec.codec->to_host).seconds() +
           codec::seconds(*spec.codec, work, part, gpu);
  }
  double sum() const {
    const machine::GpuSpec& gpu = system.node.gpu;
    return (gpu.host.enqueue + gpu.host.kernel_start).seconds() + 3 * part.bytes / gpu.hbm.bandwidth.value;
  }
  // Returns the kinds of hops that occur: true stands for a hop between nodes, false for a hop within a node.
  std::vector<bool> kinds() const {
    const bool wired = joined(spec, system) > 1;
    std::vector<bool> all;
    if (shape.ranks > shape.gpus || !wired) all.push_back(true);
    if (shape.gpus > 1 && wired) all.push_back(false);
    return all;
  }
};

// Returns the time of a ring in seconds. All ranks of a ring work at the same time, so the ring takes as long as all
// hops of one rank, one after the other. Every hop counts as the slowest kind of hop. The part that streams can overlap
// is divided by the number of streams.
double ring_form(const Costs& costs) {
  const Shape& shape = costs.shape;
  const auto chunks = static_cast<double>(shape.chunks), hops = (static_cast<double>(shape.ranks) - 1) * chunks;
  const double streams = std::min(static_cast<double>(costs.spec.streams), chunks);
  double reduces = 0, gathers = 0, around = 0;
  for (const bool leaves : costs.kinds()) {
    const bool coded = costs.coded(leaves);
    const double hop = costs.hop(leaves);
    const double sums = coded ? costs.call(codec::Work::decompress_reduce_compress) : costs.sum();
    reduces = std::max({reduces, (hop + sums) / streams, costs.alone(leaves, 1)});
    if (!coded) {
      gathers = std::max({gathers, hop / streams, costs.alone(leaves, 0)});
      continue;
    }
    const double compress = costs.call(codec::Work::compress), decompress = costs.call(codec::Work::decompress);
    if (shape.compression == Compression::root) {
      gathers = std::max({gathers, hop / streams, costs.alone(leaves, 1), decompress / streams});
      around = compress + decompress;
    } else {
      gathers = std::max({gathers, (compress + hop + decompress) / streams, costs.alone(leaves, 2)});
    }
  }
  double seconds = around;
  if (shape.collective != Collective::all_gather) seconds += hops * reduces;
  if (shape.collective != Collective::reduce_scatter) seconds += hops * gathers;
  return seconds;
}

}  // namespace

double closed_form(const ChunkedSpec& spec, const Shape& shape, const libraries::EquippedSystem& system) {
  const Costs costs{spec, shape, system};
  if (shape.collective != Collective::broadcast) return ring_form(costs);
  const bool coded = shape.compression != Compression::off;
  double compress = 0, decompress = 0;
  if (coded) {
    compress = costs.call(codec::Work::compress);
    decompress = costs.call(codec::Work::decompress);
  }
  // Every stage takes as long as the slowest one: a rank's sends of a chunk, or the codec's call for the chunk.
  const bool tree = shape.algorithm == Algorithm::binomial;
  const auto steps = [tree](Rank members) {
    return static_cast<double>(tree ? static_cast<Rank>(std::bit_width(members - 1)) : members - 1);
  };
  const auto sends = [tree, steps](Rank members) { return tree ? steps(members) : std::min(steps(members), 1.); };
  const Rank inside = shape.ranks / shape.members();
  const double depth = steps(shape.members()) + steps(inside);
  double slowest = 0, most = 1, hops = 0;
  for (const bool leaves : costs.kinds()) {
    const double own = shape.between_nodes ? sends(leaves ? shape.members() : inside) : sends(shape.ranks);
    slowest = std::max(slowest, own * costs.hop(leaves));
    hops += own * costs.hop(leaves);
    most = std::max(most, own);
  }
  const auto chunks = static_cast<double>(shape.chunks);
  const double stages = chunks + (depth - 1) / most;
  const double streams = static_cast<double>(spec.streams);
  // With every_hop, one stream makes all sends of a chunk: first to other nodes, then inside the node. Their times add
  // up.
  if (shape.compression == Compression::every_hop)
    return stages * (compress + (shape.between_nodes ? hops : slowest) + decompress) / std::min(streams, chunks);
  return compress + stages * std::max({slowest, compress / streams, decompress / streams}) + decompress;
}

Shape shape_of(const ChunkedSpec& spec, Collective collective, const libraries::EquippedSystem& system) {
  Shape shape;
  shape.ranks = static_cast<Rank>(system.ranks());
  shape.gpus = static_cast<Rank>(system.node.gpus);
  shape.collective = collective;
  shape.compression = spec.compression;
  shape.between_nodes = spec.between_nodes;
  shape.bytes = static_cast<std::int64_t>(std::ceil(spec.bytes.value));
  return shape;
}

Shape shape_of(const BroadcastSpec& spec, const libraries::EquippedSystem& system) {
  Shape shape = shape_of(spec, Collective::broadcast, system);
  shape.root = static_cast<Rank>(spec.root);
  shape.algorithm = spec.algorithm;
  return shape;
}

Plan plan_of(const ChunkedSpec& spec, const Shape& of, const libraries::EquippedSystem& system) {
  Shape shape = of;
  shape.chunks = 1;
  const std::int64_t bytes = Plan(shape).bytes(0);  // bytes of the buffer, or of the largest share
  if (spec.chunks) {
    shape.chunks = *spec.chunks;
    return Plan(shape);
  }
  constexpr std::int64_t most = 1024;
  // With scatter_all_gather every member gets the same number of chunks from the root, so `unit` is the number of
  // members without the root.
  const bool deals = shape.collective == Collective::broadcast && shape.algorithm == Algorithm::scatter_all_gather;
  const std::int64_t unit = deals ? std::max<Rank>(shape.members(), 2) - 1 : 1;
  Shape best = shape;
  double least = 0;
  for (std::int64_t power = 1; power <= most; power *= 2) {
    for (const std::int64_t count : {power, power + power / 2}) {
      shape.chunks = std::min(count * unit, bytes);
      if (shape.chunks > 1 && tasks_of(Plan(shape)) > most_tasks) continue;
      const bool codes = shape.compression != Compression::off;
      const auto chunk = static_cast<double>(Plan(shape).bytes(0));
      if (codes && codec::engine_refuses(*spec.codec, chunk, system.node.gpu)) continue;
      const double time = closed_form(spec, shape, system);
      if (least > 0 && time >= least) continue;
      least = time;
      best = shape;
    }
    if (power * unit >= bytes || power * unit > most) break;
  }
  return Plan(best);
}

}  // namespace moire::chunked
