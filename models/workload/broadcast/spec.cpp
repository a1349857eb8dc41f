#include "models/workload/broadcast/spec.hpp"

#include <fmt/format.h>

#include <cmath>

#include "models/workload/broadcast/operators.hpp"
#include "models/workload/collective/collective.hpp"
#include "sim/core/failure.hpp"

namespace moire::broadcast {

namespace {

using config::Problem;

std::optional<Problem> check(const BroadcastSpec& spec, const libraries::EquippedSystem& system) {
  const auto ranks = static_cast<Rank>(system.ranks());
  if (ranks < 2) return Problem{"a broadcast needs at least 2 ranks", "raise system.nodes or system.node.gpus"};
  if (spec.root >= ranks)
    return Problem{fmt::format("there is no rank {}", spec.root), fmt::format("the last one is {}", ranks - 1)};
  if (system.node.reach().peers() + 1 < ranks && (system.node.nics == 0 || !system.fabric))
    return Problem{"ranks that stores do not reach need NICs and a fabric between them",
                   "write system.node.nics and system.fabric, or take one node with links"};
  if (spec.chunks && static_cast<double>(*spec.chunks) > std::ceil(spec.bytes.value))
    return Problem{fmt::format("{} chunks of {:.0f} B have no byte each", *spec.chunks, spec.bytes.value),
                   "take fewer chunks, or leave chunks out"};
  if (auto problem = collective::check_memory(spec.bytes, system)) return problem;
  if (spec.compression != Compression::off) {
    if (spec.streams > spec.codec->streams)
      return Problem{fmt::format("{} streams, and codec '{}' has workspaces for {}", spec.streams, spec.codec->name,
                                 spec.codec->streams),
                     fmt::format("write streams: {}", spec.codec->streams)};
  }
  const Plan plan = plan_of(spec, system);
  if (spec.compression != Compression::off) {
    const codec::Part whole{spec.bytes.value, achieved_ratio(spec, plan)};
    const codec::Part chunk = part_of(spec, plan, 0);
    const double memory = whole.bytes * (1 + 1 / whole.ratio) +
                          spec.codec->workspace * chunk.bytes * static_cast<double>(2 * spec.streams);
    if (memory > system.node.gpu.hbm.capacity.value)
      return Problem{fmt::format("{:.4g} GB plain and compressed with workspaces do not fit the memory of {:.4g} GB",
                                 memory * 1e-9, system.node.gpu.hbm.capacity.value * 1e-9),
                     "make the broadcast smaller"};
  }
  if (tasks_of(plan) > most_tasks)
    return Problem{fmt::format("{} ranks hand on {} chunks, {:.1e} in all; at most {:.0e} are simulated", ranks,
                               plan.shape().chunks, tasks_of(plan), most_tasks),
                   "take fewer chunks or ranks"};
  return std::nullopt;
}

}  // namespace

void BroadcastSpec::describe(config::Describer<BroadcastSpec>& d) {
  d.component(
      "chunked_broadcast",
      "Every rank gets the buffer of one of them, in chunks that host threads hand on from rank to rank (GPU-aware "
      "MPI), plain or compressed: once at the root, or at every hop.");
  d.field("bytes", &BroadcastSpec::bytes, "Bytes of the buffer").positive().example("64 MiB");
  d.field("root", &BroadcastSpec::root, "Rank that has it at the beginning").range(0, 1 << 20).or_default();
  d.field("algorithm", &BroadcastSpec::algorithm,
          "chain: every rank hands on to the next one, node by node; binomial: those that have a chunk send it to half "
          "of the others; scatter_all_gather: the root deals the chunks out, and they go round the other ranks")
      .choices({{"chain", Algorithm::chain},
                {"binomial", Algorithm::binomial},
                {"scatter_all_gather", Algorithm::scatter_all_gather}})
      .or_default();
  d.field("compression", &BroadcastSpec::compression,
          "off; every_hop: each sender compresses a chunk and each receiver decompresses it, call by call; root: the "
          "root compresses it once, the others hand on what came and decompress it beside")
      .choices({{"off", Compression::off}, {"every_hop", Compression::every_hop}, {"root", Compression::root}})
      .or_default();
  d.field("between_nodes", &BroadcastSpec::between_nodes,
          "With compression root and a chain: chunks are compressed between nodes only; one GPU of each node "
          "decompresses them and hands them on in its node")
      .or_default();
  d.field("codec", &BroadcastSpec::codec, "The codec, a file of configs/codecs").optional();
  d.field("chunks", &BroadcastSpec::chunks,
          "Chunks of the buffer; absent: the number for which the closed form of the pipeline is least")
      .range(1, 1 << 16)
      .optional();
  d.field("streams", &BroadcastSpec::streams,
          "Host streams for each kind of work: chunks that a rank sends, codes or decodes side by side; 1: a chunk is "
          "sent when the one before it has arrived")
      .range(1, 64)
      .or_default();
  d.check([](const BroadcastSpec& s) -> std::optional<Problem> {
    if (s.compression == Compression::off && s.codec)
      return Problem{"a codec stands beside compression off",
                     "write compression: root or every_hop, or leave codec out"};
    if (s.compression != Compression::off && !s.codec)
      return Problem{"compression by which codec is not said", "write codec: ../codecs/zfp.yaml"};
    if (s.between_nodes && (s.compression != Compression::root || s.algorithm != Algorithm::chain))
      return Problem{"between_nodes is of a chain with compression root",
                     "write algorithm: chain and compression: root, or leave between_nodes out"};
    return std::nullopt;
  });
}

codec::Part part_of(const BroadcastSpec& spec, const Plan& plan, std::int64_t chunk) {
  return {static_cast<double>(plan.bytes(chunk)), spec.codec ? spec.codec->ratio_of(chunk) : 1};
}

double achieved_ratio(const BroadcastSpec& spec, const Plan& plan) {
  double bytes = 0;
  for (std::int64_t chunk = 0; chunk < plan.shape().chunks; ++chunk)
    bytes += codec::compressed(part_of(spec, plan, chunk)).value;
  return static_cast<double>(plan.shape().bytes) / bytes;
}

builder::Operator chunked_broadcast_operator() {
  auto made = builder::make_operator<BroadcastSpec>("chunked_broadcast", append, check);
  made.exchange = [](const config::Node& node, const libraries::EquippedSystem& system) {
    config::Diagnostics told;  // unused: append has reported all errors
    const auto spec = *config::parse<BroadcastSpec>(node, told);
    const Plan plan = plan_of(spec, system);
    builder::Exchange exchange{.size = spec.bytes};
    if (spec.codec) {
      const std::int64_t passes = plan.passes();
      exchange.stated.emplace_back("<operation>_ratio", achieved_ratio(spec, plan));
      exchange.stated.emplace_back("<operation>_lossy_hops", spec.codec->error_bound ? static_cast<double>(passes) : 0);
      exchange.stated.emplace_back("<operation>_error_bound", spec.codec->error_after(passes));
    }
    return exchange;
  };
  made.knobs = {{"chunks", {"1", "4", "16", "64", "256"}, "", "", ""},
                {"algorithm", {"chain", "binomial", "scatter_all_gather"}, "chain", "", ""},
                {"streams", {"1", "2", "4"}, "1", "", ""}};
  return made;
}

}  // namespace moire::broadcast
