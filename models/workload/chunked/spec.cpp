#include "models/workload/chunked/spec.hpp"

#include <fmt/format.h>

#include <cmath>

#include "models/workload/chunked/operators.hpp"
#include "models/workload/collective/collective.hpp"
#include "sim/core/failure.hpp"

namespace moire::chunked {

namespace {

using config::Problem;

const char* name_of(Collective collective) {
  constexpr const char* names[] = {"chunked_broadcast", "chunked_all_gather", "chunked_reduce_scatter",
                                   "chunked_all_reduce"};
  return names[static_cast<std::size_t>(collective)];
}

Shape shape_for(const BroadcastSpec& spec, const libraries::EquippedSystem& system) { return shape_of(spec, system); }
template <class Spec>
Shape shape_for(const Spec& spec, const libraries::EquippedSystem& system) {
  return shape_of(spec, Spec::collective, system);
}

// Returns the bytes of the largest buffer of a rank.
double buffer_of(const Shape& shape) {
  return static_cast<double>(shape.bytes) * (shape.collective == Collective::all_gather ? shape.ranks : 1);
}

}  // namespace

Rank joined(const ChunkedSpec& spec, const libraries::EquippedSystem& system) {
  return spec.path == Path::host ? static_cast<Rank>(system.node.gpus) : system.node.reach().peers() + 1;
}

std::optional<Problem> check(const ChunkedSpec& spec, const Shape& shape, const libraries::EquippedSystem& system) {
  const Rank ranks = shape.ranks;
  if (ranks < 2) return Problem{"a collective needs at least 2 ranks", "raise system.nodes or system.node.gpus"};
  if (shape.root >= ranks)
    return Problem{fmt::format("there is no rank {}", shape.root), fmt::format("the last one is {}", ranks - 1)};
  if (spec.path == Path::host && !system.node.host_memory)
    return Problem{"path is host, but the system does not state the memory of its hosts",
                   "write system.node.host_memory: ../hardware/<file>.yaml, or path: peer"};
  if (joined(spec, system) < ranks && (system.node.nics == 0 || !system.fabric))
    return Problem{"some ranks cannot store to each other's memory and have no NICs and fabric between them",
                   "write system.node.nics and system.fabric, or use one node with links"};
  // The largest share is that of rank 0.
  Shape whole = shape;
  whole.chunks = 1;
  const std::int64_t share = Plan(whole).bytes(0);
  if (spec.chunks && *spec.chunks > share)
    return Problem{fmt::format("{} B cannot be divided into {} chunks", share, *spec.chunks),
                   "use fewer chunks, or leave chunks out"};
  if (auto problem = collective::check_memory(Bytes{buffer_of(shape)}, system)) return problem;
  if (spec.compression != Compression::off && spec.streams > spec.codec->streams)
    return Problem{fmt::format("there are {} streams, but codec '{}' has workspaces for {}", spec.streams,
                               spec.codec->name, spec.codec->streams),
                   fmt::format("write streams: {}", spec.codec->streams)};
  const Plan plan = plan_of(spec, shape, system);
  if (tasks_of(plan) > most_tasks)
    return Problem{fmt::format("{} ranks forward {} chunks each, {:.1e} in all, but at most {:.0e} can be simulated",
                               ranks, plan.turns(), tasks_of(plan), most_tasks),
                   "use fewer chunks or ranks"};
  if (spec.compression != Compression::off) {
    const codec::Part chunk = part_of(spec, plan, 0);
    if (auto problem = codec::engine_refuses(*spec.codec, chunk.bytes, system.node.gpu)) return problem;
    const double memory = buffer_of(shape) * (1 + 1 / achieved_ratio(spec, plan)) +
                          spec.codec->workspace * chunk.bytes * static_cast<double>(2 * spec.streams);
    if (memory > system.node.gpu.hbm.capacity.value)
      return Problem{
          fmt::format("plain data, compressed data and workspaces of {:.4g} GB do not fit into the memory of {:.4g} GB",
                      memory * 1e-9, system.node.gpu.hbm.capacity.value * 1e-9),
          "make the collective smaller"};
  }
  return std::nullopt;
}

namespace {

template <class Spec>
builder::Operator chunked_operator() {
  auto made = builder::make_operator<Spec>(
      name_of(Spec::collective),
      [](builder::Builder& build, const Spec& spec) {
        append(build, spec, plan_of(spec, shape_for(spec, build.system), build.system),
               build.unique(name_of(Spec::collective)));
      },
      [](const Spec& spec, const libraries::EquippedSystem& system) {
        return check(spec, shape_for(spec, system), system);
      });
  made.exchange = [](const config::Node& node, const libraries::EquippedSystem& system) {
    config::Diagnostics told;  // not needed: append has reported all errors
    const auto spec = *config::parse<Spec>(node, told);
    const Plan plan = plan_of(spec, shape_for(spec, system), system);
    const double ranks = plan.shape().ranks;
    // As nccl-tests defines them, `size` is a rank's largest buffer, and `on_wire` is how many bytes a rank has to send
    // per byte of `size`.
    builder::Exchange exchange{.size = Bytes{buffer_of(plan.shape())}};
    if (Spec::collective != Collective::broadcast)
      exchange.on_wire = (Spec::collective == Collective::all_reduce ? 2 : 1) * (ranks - 1) / ranks;
    if (spec.codec) {
      const std::int64_t passes = plan.passes();
      exchange.stated.emplace_back("<operation>_ratio", achieved_ratio(spec, plan));
      exchange.stated.emplace_back("<operation>_lossy_hops", spec.codec->error_bound ? static_cast<double>(passes) : 0);
      exchange.stated.emplace_back("<operation>_error_bound", spec.codec->error_after(passes));
    }
    return exchange;
  };
  made.knobs = {{"chunks", {"1", "4", "16", "64", "256"}, "", "", ""}, {"streams", {"1", "2", "4"}, "1", "", ""}};
  return made;
}

std::optional<Problem> check_codec(const ChunkedSpec& s) {
  if (s.compression == Compression::off && s.codec)
    return Problem{"a codec is given although compression is off",
                   "write compression: root or every_hop, or leave codec out"};
  if (s.compression != Compression::off && !s.codec)
    return Problem{"compression is on, but no codec is given", "write codec: ../codecs/zfp.yaml"};
  return std::nullopt;
}

template <class Spec>
void describe_codec(config::Describer<Spec>& d) {
  d.field("codec", &Spec::codec, "The codec, a file in configs/codecs").optional();
}

template <class Spec>
void describe_streams(config::Describer<Spec>& d) {
  d.field("streams", &Spec::streams,
          "Number of host streams for each kind of work: a rank sends, compresses or decompresses this many chunks at "
          "the same time; with 1, a chunk is sent when the previous one has arrived")
      .range(1, 64)
      .or_default();
  d.field("path", &Spec::path,
          "How chunks get to another GPU of the node. peer: by one copy into its memory; host: by a copy into the "
          "host's memory and another out of it, as between GPUs that cannot access each other's memory")
      .choices({{"peer", Path::peer}, {"host", Path::host}})
      .or_default();
}

template <class Spec>
void describe_ring(config::Describer<Spec>& d, const char* bytes, const char* compression) {
  d.field("bytes_per_rank", &Spec::bytes, bytes).positive().example("64 MiB");
  auto field = d.field("compression", &Spec::compression, compression);
  if (Spec::collective == Collective::reduce_scatter)
    field.choices({{"off", Compression::off}, {"every_hop", Compression::every_hop}});
  else
    field.choices({{"off", Compression::off}, {"every_hop", Compression::every_hop}, {"root", Compression::root}});
  field.or_default();
  d.field("between_nodes", &Spec::between_nodes,
          "With compression every_hop: only hops to another node are compressed. (To treat the parts of a collective "
          "inside and between nodes differently, write them as operators with a `group` each.)")
      .or_default();
  describe_codec(d);
  d.field("chunks", &Spec::chunks,
          "Number of chunks of each rank's share; absent: the number for which a formula for the ring predicts the "
          "shortest time")
      .range(1, 1 << 16)
      .optional();
  describe_streams(d);
  d.check([](const Spec& s) -> std::optional<Problem> {
    if (auto problem = check_codec(s)) return problem;
    if (s.between_nodes && s.compression != Compression::every_hop)
      return Problem{"between_nodes only goes with compression every_hop",
                     "write compression: every_hop, or leave between_nodes out"};
    return std::nullopt;
  });
}

}  // namespace

void BroadcastSpec::describe(config::Describer<BroadcastSpec>& d) {
  d.component("chunked_broadcast",
              "Every rank gets the buffer of one rank, in chunks that host threads forward from rank to rank "
              "(GPU-aware MPI). The chunks are plain, compressed once at the root, or compressed at every hop.");
  d.field("bytes", &BroadcastSpec::bytes, "Bytes of the buffer").positive().example("64 MiB");
  d.field("root", &BroadcastSpec::root, "Rank whose buffer is broadcast").range(0, 1 << 20).or_default();
  d.field("algorithm", &BroadcastSpec::algorithm,
          "chain: every rank forwards to the next one, node by node; binomial: in each round, every rank that has a "
          "chunk sends it to one that does not; scatter_all_gather: the root distributes the chunks over the other "
          "ranks, which exchange them around a ring")
      .choices({{"chain", Algorithm::chain},
                {"binomial", Algorithm::binomial},
                {"scatter_all_gather", Algorithm::scatter_all_gather}})
      .or_default();
  d.field("compression", &BroadcastSpec::compression,
          "off: chunks are plain; every_hop: each sender compresses a chunk and each receiver decompresses it, call by "
          "call; root: the root compresses a chunk once, and the others forward it compressed and decompress it at the "
          "same time")
      .choices({{"off", Compression::off}, {"every_hop", Compression::every_hop}, {"root", Compression::root}})
      .or_default();
  d.field("between_nodes", &BroadcastSpec::between_nodes,
          "Chunks are compressed between nodes only. The algorithm runs over one GPU of each node, which decompresses "
          "the chunks and forwards them inside its node, along a chain or, if the algorithm is binomial, a tree")
      .or_default();
  describe_codec(d);
  d.field("chunks", &BroadcastSpec::chunks,
          "Number of chunks of the buffer; absent: the number for which a formula for the pipeline predicts the "
          "shortest time")
      .range(1, 1 << 16)
      .optional();
  describe_streams(d);
  d.check([](const BroadcastSpec& s) -> std::optional<Problem> {
    if (auto problem = check_codec(s)) return problem;
    if (s.between_nodes && s.compression == Compression::off)
      return Problem{"between_nodes only goes with compression",
                     "write compression: root or every_hop, or leave between_nodes out"};
    return std::nullopt;
  });
}

void AllGatherSpec::describe(config::Describer<AllGatherSpec>& d) {
  d.component(
      "chunked_all_gather",
      "Every rank gets the inputs of all ranks, in chunks that host threads forward around a ring (GPU-aware "
      "MPI). The chunks are plain, compressed once by the rank that owns the input, or compressed at every hop.");
  describe_ring(d, "Bytes of a rank's input; its output consists of the inputs of all ranks",
                "off: chunks are plain; every_hop: each sender compresses a chunk and each receiver decompresses it, "
                "call by call; root: each rank compresses its own input once, and the others forward it compressed and "
                "decompress it at the same time");
}

void ReduceScatterSpec::describe(config::Describer<ReduceScatterSpec>& d) {
  d.component("chunked_reduce_scatter",
              "Inputs are summed over the ranks, and every rank keeps its share of the sum. Host threads forward "
              "chunks around a ring, plain or compressed.");
  describe_ring(d, "Bytes of a rank's input; its output is one share of it",
                "off: chunks are plain; every_hop: a rank compresses its input, each following rank decompresses what "
                "it receives, adds its own input and compresses the sum in one kernel, and the last rank decompresses "
                "and adds. A partial sum changes at every hop, so it cannot be compressed once");
}

void AllReduceSpec::describe(config::Describer<AllReduceSpec>& d) {
  d.component("chunked_all_reduce",
              "Inputs are summed over the ranks, and every rank gets the sum: a chunked_reduce_scatter followed, chunk "
              "by chunk, by a chunked_all_gather of the sums.");
  describe_ring(d, "Bytes of a rank's input and of its output",
                "off: chunks are plain; every_hop: both parts compress at every hop; root: the reduction compresses at "
                "every hop, and the rank that completes a sum compresses it once, in the same kernel; the others "
                "forward it compressed, and all ranks decompress it at the same time");
}

codec::Part part_of(const ChunkedSpec& spec, const Plan& plan, std::int64_t chunk) {
  return {static_cast<double>(plan.bytes(chunk)), spec.codec ? spec.codec->ratio_of(chunk) : 1};
}

double achieved_ratio(const ChunkedSpec& spec, const Plan& plan) {
  double plain = 0, bytes = 0;
  for (std::int64_t chunk = 0; chunk < plan.chunks(); ++chunk) {
    const codec::Part part = part_of(spec, plan, chunk);
    plain += part.bytes;
    bytes += codec::compressed(part).value;
  }
  return plain / bytes;
}

builder::Operator chunked_broadcast_operator() {
  builder::Operator made = chunked_operator<BroadcastSpec>();
  made.knobs.push_back({"algorithm", {"chain", "binomial", "scatter_all_gather"}, "chain", "", ""});
  return made;
}
builder::Operator chunked_all_gather_operator() { return chunked_operator<AllGatherSpec>(); }
builder::Operator chunked_reduce_scatter_operator() { return chunked_operator<ReduceScatterSpec>(); }
builder::Operator chunked_all_reduce_operator() { return chunked_operator<AllReduceSpec>(); }

}  // namespace moire::chunked
