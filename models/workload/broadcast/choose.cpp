// Chooses the number of chunks for which the closed form of the pipeline is smallest, among powers of two and the
// numbers half way between them.
#include <algorithm>
#include <bit>
#include <cmath>

#include "models/workload/broadcast/spec.hpp"

namespace moire::broadcast {

namespace {

struct Path {
  double latency;  // of a message, seconds
  double rate;     // bytes per second
};

Path inside(const machine::GpuSpec& gpu) {
  const double links = static_cast<double>(gpu.port.links) * gpu.port.link_bandwidth.value;
  return {(gpu.host.enqueue + gpu.dma.first_command).seconds(), std::min(gpu.dma.bandwidth.value, links)};
}

Path between(const nic::NicSpec& nic) {
  const Time fixed = nic.wqe_build + nic.proxy_latency + nic.proxy_time + nic.doorbell + nic.pcie_latency +
                     nic.latency * 2 + nic.flag_latency;
  return {fixed.seconds() + 2 / nic.message_rate.value, std::min(nic.pcie_bandwidth.value, nic.wire_bandwidth().value)};
}

}  // namespace

double closed_form(const BroadcastSpec& spec, const Shape& shape, const libraries::EquippedSystem& system) {
  const machine::GpuSpec& gpu = system.node.gpu;
  const Plan plan(shape);
  const codec::Part part = part_of(spec, plan, 0);
  const bool coded = shape.compression != Compression::off;
  // All stages of a chain take as long as its slowest hop.
  const auto hop = [&](bool leaves) {
    const Path path = leaves && system.node.nic ? between(*system.node.nic) : inside(gpu);
    const bool smaller = coded && (!shape.between_nodes || leaves);
    return path.latency + (smaller ? codec::compressed(part).value : part.bytes) / path.rate;
  };
  const bool wired = system.node.reach().peers() > 0;
  double slowest = shape.ranks > shape.gpus || !wired ? hop(true) : 0;
  if (shape.gpus > 1 && wired) slowest = std::max(slowest, hop(false));
  double compress = 0, decompress = 0;
  if (coded) {
    const double each = (gpu.host.enqueue + gpu.host.kernel_start + spec.codec->call + spec.codec->to_host).seconds();
    compress = each + codec::seconds(*spec.codec, codec::Work::compress, part, gpu);
    decompress = each + codec::seconds(*spec.codec, codec::Work::decompress, part, gpu);
  }
  const auto chunks = static_cast<double>(shape.chunks), ranks = static_cast<double>(shape.ranks);
  double stages = chunks + ranks - 2, sends = 1;
  if (shape.algorithm == Algorithm::binomial) {
    sends = std::bit_width(shape.ranks - 1);  // of the root per chunk
    stages = chunks + (sends - 1) / sends;
  }
  const double streams = static_cast<double>(spec.streams);
  if (shape.compression == Compression::every_hop)
    return stages * (compress + sends * slowest + decompress) / std::min(streams, chunks);
  return compress + stages * std::max({sends * slowest, compress / streams, decompress / streams}) + decompress;
}

Plan plan_of(const BroadcastSpec& spec, const libraries::EquippedSystem& system) {
  Shape shape;
  shape.ranks = static_cast<Rank>(system.ranks());
  shape.gpus = static_cast<Rank>(system.node.gpus);
  shape.root = static_cast<Rank>(spec.root);
  shape.algorithm = spec.algorithm;
  shape.compression = spec.compression;
  shape.between_nodes = spec.between_nodes;
  shape.bytes = static_cast<std::int64_t>(std::ceil(spec.bytes.value));
  if (spec.chunks) {
    shape.chunks = *spec.chunks;
    return Plan(shape);
  }
  constexpr std::int64_t most = 1024;
  // With scatter_all_gather every rank gets the same number of chunks from the root.
  const std::int64_t unit = shape.algorithm == Algorithm::scatter_all_gather ? shape.ranks - 1 : 1;
  Shape best = shape;
  double least = 0;
  for (std::int64_t power = 1; power <= most; power *= 2) {
    for (const std::int64_t count : {power, power + power / 2}) {
      shape.chunks = std::min(count * unit, shape.bytes);
      if (shape.chunks > 1 && tasks_of(Plan(shape)) > most_tasks) continue;
      const double time = closed_form(spec, shape, system);
      if (least > 0 && time >= least) continue;
      least = time;
      best = shape;
    }
    if (power * unit >= shape.bytes || power * unit > most) break;
  }
  return Plan(best);
}

}  // namespace moire::broadcast
