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

// Times of calls, in seconds.
struct Called {
  double seconds = 0;  // until the host knows that the kernel has ended
  double host = 0;     // part of `seconds` for which the host thread is busy
  Called operator+(const Called& other) const { return {seconds + other.seconds, host + other.host}; }
};

// Times of a hop, and of calls.
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
  // Returns the part of a hop, in seconds, for which its engine or NIC cannot serve other streams of the rank. A NIC
  // divides its bandwidth between the messages of all `streams` streams, so they end at the same time, and nothing is
  // sent while their latency passes.
  double alone(bool leaves, double streams) const {
    const Route by = route(leaves);
    return wire(leaves) + (leaves && system.node.nic ? std::max(by.busy, by.latency / streams) : by.busy);
  }
  // Returns the time, in seconds, that the host thread of a rank spends on a send. A rank has one such thread.
  double sending(bool leaves) const {
    const host::HostSpec& host = system.node.gpu.host;
    if (leaves && system.node.nic) return 0;
    return (host.copy_time() + host.query + (by_host() ? system.node.host_memory->calls : Time{})).seconds();
  }
  // A call of the codec.
  Called call(codec::Work work) const {
    const machine::GpuSpec& gpu = system.node.gpu;
    return {(gpu.host.enqueue + gpu.host.kernel_start + spec.codec->call + spec.codec->to_host).seconds() +
                codec::seconds(*spec.codec, work, part, gpu),
            (spec.codec->call + gpu.host.enqueue * codec::kernels(*spec.codec, work) + gpu.host.query).seconds()};
  }
  // A call of the kernel that adds.
  Called sum() const {
    const machine::GpuSpec& gpu = system.node.gpu;
    return {(gpu.host.enqueue + gpu.host.kernel_start).seconds() + 3 * part.bytes / gpu.hbm.bandwidth.value,
            (gpu.host.enqueue + gpu.host.query).seconds()};
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
  const bool root = shape.compression == Compression::root;
  const std::vector<bool> kinds = costs.kinds();
  double reduces = 0, gathers = 0, around = 0;
  for (const bool leaves : kinds) {
    // A rank that sends to another node has received from its own node, and the other way round.
    const bool sent = costs.coded(leaves), received = costs.coded(kinds.size() == 1 ? leaves : !leaves);
    const auto slowest = [&](const Called& called) {
      return std::max({(costs.hop(leaves) + called.seconds) / streams, costs.alone(leaves, streams),
                       costs.sending(leaves) + called.host});
    };
    const Called decompress = received ? costs.call(codec::Work::decompress) : Called{};
    const Called compress = sent ? costs.call(codec::Work::compress) : Called{};
    reduces = std::max(reduces, slowest(sent && received ? costs.call(codec::Work::decompress_reduce_compress)
                                        : received       ? costs.call(codec::Work::decompress_reduce)
                                                         : costs.sum() + compress));
    gathers = std::max(gathers, root ? std::max(slowest({0, decompress.host}), decompress.seconds / streams)
                                     : slowest(decompress + compress));
    if (root) around = compress.seconds + decompress.seconds;
  }
  double seconds = around;
  if (shape.collective != Collective::all_gather) seconds += hops * reduces;
  if (shape.collective != Collective::reduce_scatter) seconds += hops * gathers;
  return seconds;
}

// Returns the time of a broadcast in seconds: that of the first chunk on the longest path, and that of the slowest
// stage for each further chunk. A stage is what one rank does with a chunk: its sends, and with every_hop also the
// calls of the codec, because they are in the same stream. Streams divide what they can overlap.
double broadcast_form(const Costs& costs) {
  const Shape& shape = costs.shape;
  const bool every_hop = shape.compression == Compression::every_hop, root = shape.compression == Compression::root;
  const bool tree = shape.algorithm == Algorithm::binomial;
  const auto steps = [tree](Rank members) {
    return static_cast<double>(tree ? static_cast<Rank>(std::bit_width(members - 1)) : members - 1);
  };
  const auto chunks = static_cast<double>(shape.chunks);
  const double streams = std::min(static_cast<double>(costs.spec.streams), chunks);
  // With scatter_all_gather, a rank forwards in each turn what it received in the turn before, so streams do not help.
  const bool deals = shape.algorithm == Algorithm::scatter_all_gather && shape.members() > 2;
  const double in_flight = deals ? 1 : streams;
  const Called compress = every_hop || root ? costs.call(codec::Work::compress) : Called{};
  const Called decompress = every_hop || root ? costs.call(codec::Work::decompress) : Called{};
  const double out = steps(shape.ranks / shape.gpus);  // hops between nodes on the longest path
  const double path = shape.between_nodes ? out + steps(shape.gpus) : steps(shape.ranks);
  const std::vector<bool> kinds = costs.kinds();
  double first = 0, sends = 0, alone = 0, host = 0;
  for (const bool leaves : kinds) {
    const double on_path = kinds.size() == 1 ? path : leaves ? out : path - out;
    const double own = tree ? on_path : std::min(on_path, 1.);
    first +=
        on_path * (costs.hop(leaves) + (every_hop && costs.coded(leaves) ? compress + decompress : Called{}).seconds);
    // A rank of a chain sends either to its own node or to another one. All others send to both.
    sends = tree || shape.between_nodes ? sends + own * costs.hop(leaves) : std::max(sends, costs.hop(leaves));
    alone = std::max(alone, own * costs.alone(leaves, in_flight));
    host += own * costs.sending(leaves);
  }
  double stage = std::max(sends / in_flight, alone);
  if (every_hop) {
    // The root does not decompress. The ranks behind it do, and in a tree they send once less.
    const double inner = decompress.seconds + compress.seconds + sends - (tree ? costs.hop(kinds.front()) : 0);
    stage = std::max({stage, (compress.seconds + sends) / streams, path > 1 ? inner / streams : 0});
  }
  if (root) {
    // The root raises a flag behind each compressed chunk.
    const double encode = compress.seconds + costs.system.node.gpu.host.enqueue.seconds();
    first += encode + decompress.seconds;
    stage = std::max({stage, encode / streams, decompress.seconds / streams});
  }
  host += every_hop ? compress.host + decompress.host : std::max(compress.host, decompress.host);
  return first + (chunks - 1) * std::max(stage, host);
}

}  // namespace

double closed_form(const ChunkedSpec& spec, const Shape& shape, const libraries::EquippedSystem& system) {
  const Costs costs{spec, shape, system};
  return shape.collective == Collective::broadcast ? broadcast_form(costs) : ring_form(costs);
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
    for (const std::int64_t count : {power, power + power / 2, power * unit, (power + power / 2) * unit}) {
      shape.chunks = std::min(count, bytes);
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
