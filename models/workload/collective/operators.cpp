// Defines the operators of a library's collectives, under the names that scenarios use.
#include "models/workload/collective/operators.hpp"

#include <cmath>

#include "models/workload/collective/algorithms.hpp"
#include "models/workload/collective/collective.hpp"

namespace moire::collective {

namespace {

using config::Describer;

struct AllGatherSpec : Method {
  Bytes bytes_per_rank;
  static void describe(config::Describer<AllGatherSpec>& d);
};

struct ReduceScatterSpec : Method {
  Bytes bytes_per_rank;
  builder::DataType dtype = builder::DataType::bf16;
  static void describe(config::Describer<ReduceScatterSpec>& d);
};

struct AllReduceSpec : Method {
  Bytes bytes_per_rank;
  builder::DataType dtype = builder::DataType::bf16;
  static void describe(config::Describer<AllReduceSpec>& d);
};

struct AllToAllSpec : Method {
  std::optional<Bytes> bytes_per_rank;
  std::optional<Bytes> bytes_per_peer;
  static void describe(config::Describer<AllToAllSpec>& d);
};

struct BroadcastSpec : Method {
  Bytes bytes_per_rank;
  std::int64_t root = 0;
  static void describe(config::Describer<BroadcastSpec>& d);
};

struct SendRecvSpec : Method {
  Bytes bytes_per_rank;
  std::int64_t peer_offset = 1;
  bool wrap_around = true;
  static void describe(config::Describer<SendRecvSpec>& d);
};

template <class Spec>
void describe_method(Describer<Spec>& d) {
  auto algorithm = d.field(
      "algorithm", &Spec::algorithm,
      "ring; tree; direct: every rank exchanges with every other; recursive: halving and doubling; pat: a "
      "binary tree for each rank's part (all-gather and reduce-scatter); nvls: sums in the switch of one node; "
      "nvls_tree "
      "(all-reduce): NVLS in nodes and trees between them; nvls_sharp (all-reduce): NVLS in nodes and sums in the "
      "switches between them (reduction of the fabric); auto: the library chooses by size, and "
      "messages between pairs and the engines dma and nic use direct; best: Moire simulates all of these with "
      "all allowed protocols and takes the one that ends first when it runs alone");
  [&algorithm]<std::size_t... i>(std::index_sequence<i...>) {
    algorithm.choices({{"auto", Algorithm::automatic},
                       {"best", Algorithm::best},
                       {algorithms[i]->name, static_cast<Algorithm>(i + 1)}...});
  }
  (std::make_index_sequence<algorithms.size()>{});
  algorithm.or_default();
  d.field("engine", &Spec::engine,
          "cu: a kernel of the collective library; dma: copies by DMA engines; nic: puts that the GPU issues")
      .choices({{"cu", Engine::cu}, {"dma", Engine::dma}, {"nic", Engine::nic}})
      .or_default();
  d.field("channels", &Spec::channels,
          "Largest number of channels (workgroups) of the kernel, as NCCL's max CTAs; absent: the library's number, or "
          "with engine nic one per peer")
      .range(1, 1024)
      .optional();
  d.field("protocol", &Spec::protocol, "Protocol of the library's FIFOs; auto: the library chooses by size")
      .choices({{"auto", Protocol::automatic},
                {"simple", Protocol::simple},
                {"ll", Protocol::ll},
                {"ll128", Protocol::ll128}})
      .or_default();
  d.field("streams", &Spec::streams,
          "With engine dma: 1: copies to the peers follow each other on one queue; per_peer: each peer has its own "
          "queue, and all copies begin together")
      .choices({{"1", Streams::one}, {"per_peer", Streams::per_peer}})
      .or_default();
  d.field("order", &Spec::order,
          "With engines dma and nic: order in which rank r serves its peers. rotated: r + 1, r + 2, ..., so that no "
          "two ranks send to the same peer; ascending: 0, 1, ...")
      .choices({{"rotated", Order::rotated}, {"ascending", Order::ascending}})
      .or_default();
  d.field("flags", &Spec::flags,
          "With engine dma: true: a command of the queue raises a flag at the receiver after each copy, as kernels need "
          "that wait for single copies")
      .or_default();
  d.field("own_share", &Spec::own_share,
          "Whether a rank copies its own share of the input to the output; auto: engine cu copies it, and the other "
          "engines take it to be in place")
      .choices({{"auto", OwnShare::automatic}, {"copied", OwnShare::copied}, {"left", OwnShare::left}})
      .or_default();
  d.field("library", &Spec::library,
          "With engine cu: the collective library, a file in configs/libraries; absent: the library of the system")
      .optional();
}

template <class Spec>
void describe_type(Describer<Spec>& d) {
  d.field("dtype", &Spec::dtype, "Element type of the sums")
      .choices(
          {{"fp32", builder::DataType::fp32}, {"fp16", builder::DataType::fp16}, {"bf16", builder::DataType::bf16}})
      .or_default();
}

// Returns the collective with its size rounded up to whole bytes.
Collective of(Kind kind, Bytes bytes, const Method& method) {
  return {.kind = kind, .bytes = Bytes{std::ceil(bytes.value)}, .method = method};
}

void AllGatherSpec::describe(Describer<AllGatherSpec>& d) {
  d.component("all_gather", "Every rank gets the inputs of all ranks.");
  d.field("bytes_per_rank", &AllGatherSpec::bytes_per_rank,
          "Bytes of a rank's input; its output consists of the inputs of all ranks")
      .positive();
  describe_method(d);
}

void ReduceScatterSpec::describe(Describer<ReduceScatterSpec>& d) {
  d.component("reduce_scatter", "Inputs are summed over the ranks; every rank keeps its share of the sum.");
  d.field("bytes_per_rank", &ReduceScatterSpec::bytes_per_rank,
          "Bytes of a rank's input; its output is one share of it")
      .positive();
  describe_type(d);
  describe_method(d);
}

void AllReduceSpec::describe(Describer<AllReduceSpec>& d) {
  d.component("all_reduce", "Inputs are summed over the ranks; every rank gets the sum.");
  d.field("bytes_per_rank", &AllReduceSpec::bytes_per_rank, "Bytes of a rank's input and of its output").positive();
  describe_type(d);
  describe_method(d);
}

void AllToAllSpec::describe(Describer<AllToAllSpec>& d) {
  d.component("all_to_all", "Every rank sends a share to every other rank and keeps one of its own.");
  d.field("bytes_per_rank", &AllToAllSpec::bytes_per_rank,
          "Bytes of a rank's input, which has one share for each rank; write this or bytes_per_peer")
      .positive();
  d.field("bytes_per_peer", &AllToAllSpec::bytes_per_peer, "Bytes of one share; write this or bytes_per_rank")
      .positive();
  describe_method(d);
  d.check([](const AllToAllSpec& s) -> std::optional<config::Problem> {
    if (s.bytes_per_rank.has_value() != s.bytes_per_peer.has_value()) return std::nullopt;
    if (s.bytes_per_rank)
      return config::Problem{"bytes_per_rank and bytes_per_peer both give the size", "write one of them"};
    return config::Problem{"the size of the All-to-All is missing", "write bytes_per_rank (or bytes_per_peer)"};
  });
}

void BroadcastSpec::describe(Describer<BroadcastSpec>& d) {
  d.component("broadcast", "Every rank gets the buffer of one rank.");
  d.field("bytes_per_rank", &BroadcastSpec::bytes_per_rank, "Bytes of the buffer").positive();
  d.field("root", &BroadcastSpec::root, "Rank whose buffer is broadcast").range(0, 1 << 20).or_default();
  describe_method(d);
}

void SendRecvSpec::describe(Describer<SendRecvSpec>& d) {
  d.component("send_recv",
              "Every rank sends to the rank that is `peer_offset` after it and receives from the rank that is "
              "`peer_offset` before it.");
  d.field("bytes_per_rank", &SendRecvSpec::bytes_per_rank, "Bytes that a rank sends").positive();
  d.field("peer_offset", &SendRecvSpec::peer_offset, "Rank r sends to r + peer_offset, modulo the ranks")
      .range(1, 1 << 20)
      .or_default();
  d.field(
       "wrap_around", &SendRecvSpec::wrap_around,
       "false: the last peer_offset ranks send nothing and the first ones receive nothing, as in a pipeline of stages")
      .or_default();
  describe_method(d);
}

Collective collective_of(const AllGatherSpec& spec, const machine::SystemSpec&) {
  return of(Kind::all_gather, spec.bytes_per_rank, spec);
}

Collective collective_of(const ReduceScatterSpec& spec, const machine::SystemSpec&) {
  Collective made = of(Kind::reduce_scatter, spec.bytes_per_rank, spec);
  made.element_bytes = builder::bytes_of(spec.dtype);
  return made;
}

Collective collective_of(const AllReduceSpec& spec, const machine::SystemSpec&) {
  Collective made = of(Kind::all_reduce, spec.bytes_per_rank, spec);
  made.element_bytes = builder::bytes_of(spec.dtype);
  return made;
}

Collective collective_of(const AllToAllSpec& spec, const machine::SystemSpec& system) {
  const double bytes = spec.bytes_per_rank ? spec.bytes_per_rank->value
                                           : spec.bytes_per_peer->value * static_cast<double>(system.ranks());
  return of(Kind::all_to_all, Bytes{bytes}, spec);
}

Collective collective_of(const BroadcastSpec& spec, const machine::SystemSpec&) {
  Collective made = of(Kind::broadcast, spec.bytes_per_rank, spec);
  made.root = static_cast<program::Rank>(spec.root);
  return made;
}

Collective collective_of(const SendRecvSpec& spec, const machine::SystemSpec&) {
  Collective made = of(Kind::send_recv, spec.bytes_per_rank, spec);
  made.offset = static_cast<program::Rank>(spec.peer_offset);
  made.wraps = spec.wrap_around;
  return made;
}

// Returns the numbers for bandwidths as nccl-tests defines them (its doc/PERFORMANCE.md): `size` is the largest buffer
// of a rank, and `on_wire` is how many bytes a rank has to send per byte of `size`.
builder::Exchange exchange_of(const Collective& c, std::int64_t ranks) {
  const auto n = static_cast<double>(ranks);
  builder::Exchange made{.size = c.bytes};
  switch (c.kind) {
    case Kind::all_reduce:
      made.on_wire = 2 * (n - 1) / n;
      break;
    case Kind::all_gather:
      made.size = c.bytes * n;
      made.on_wire = (n - 1) / n;
      break;
    case Kind::reduce_scatter:
    case Kind::all_to_all:
      made.on_wire = (n - 1) / n;
      break;
    default:
      break;
  }
  return made;
}

template <class Spec>
builder::Operator collective_operator(std::string name) {
  builder::Operator made = builder::make_operator<Spec>(
      std::move(name),
      [](builder::Builder& build, const Spec& spec) {
        const Collective collective = collective_of(spec, build.system);
        append(build, collective, name_of(collective.kind));
      },
      [](const Spec& spec, const libraries::EquippedSystem& system) {
        return check(collective_of(spec, system), system);
      });
  made.exchange = [](const config::Node& node, const libraries::EquippedSystem& system) {
    config::Diagnostics told;  // not needed: append has reported all errors
    return exchange_of(collective_of(*config::parse<Spec>(node, told), system), system.ranks());
  };
  made.knobs = {{"engine", {"cu", "dma"}, "cu", "", ""},
                {"channels", {"4", "8", "16", "32"}, "", "engine", "cu"},
                {"streams", {"1", "per_peer"}, "1", "engine", "dma"}};
  return made;
}

}  // namespace

builder::Operator all_gather_operator() { return collective_operator<AllGatherSpec>("all_gather"); }
builder::Operator all_reduce_operator() { return collective_operator<AllReduceSpec>("all_reduce"); }
builder::Operator reduce_scatter_operator() { return collective_operator<ReduceScatterSpec>("reduce_scatter"); }
builder::Operator all_to_all_operator() { return collective_operator<AllToAllSpec>("all_to_all"); }
builder::Operator broadcast_operator() { return collective_operator<BroadcastSpec>("broadcast"); }
builder::Operator send_recv_operator() { return collective_operator<SendRecvSpec>("send_recv"); }

}  // namespace moire::collective
