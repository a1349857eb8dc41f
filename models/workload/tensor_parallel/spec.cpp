#include "models/workload/tensor_parallel/spec.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/workload/tensor_parallel/operators.hpp"

namespace moire::tensor_parallel {

namespace {

using config::Describer;
using config::Problem;
using kernel::GemmSpec;

template <class Spec>
void describe_common(Describer<Spec>& d, const char* product) {
  d.field("gemm", &Spec::gemm, product).example("{m: 4096, n: 12288, k: 49152}");
  d.field(
       "schedule", &Spec::schedule,
       "bulk_synchronous: the GEMM and the collective, one after the other; split: a GEMM for the rows of each "
       "rank, while rows of other ranks are copied around a ring (TransformerEngine); pipelined: the same with copies "
       "between all pairs of ranks, on two streams with barriers (PyTorch's operators over symmetric memory); fused: "
       "one kernel that sends each tile when it is complete, or computes each tile when its rows have arrived; gemm "
       "and communication: only the GEMM or only the collective of bulk_synchronous")
      .choices({{"bulk_synchronous", Schedule::bulk_synchronous},
                {"split", Schedule::split},
                {"pipelined", Schedule::pipelined},
                {"fused", Schedule::fused},
                {"gemm", Schedule::gemm},
                {"communication", Schedule::communication}})
      .or_default();
  d.field("order", &Spec::order,
          "Fused: whose rows a rank computes first. own_first: its own, then those of the next ranks of its node, then "
          "those of other nodes; own_last: those of other nodes, then of the next ranks, then its own; in_order: all "
          "ranks begin with row 0")
      .choices({{"own_first", BlockOrder::own_first},
                {"own_last", BlockOrder::own_last},
                {"in_order", BlockOrder::in_order}})
      .or_default();
  d.field("store_beside", &Spec::store_beside,
          "Fused: the store of a tile overlaps with the main loop of the workgroup's next tile; absent: as in the "
          "kernels of the GEMM library (gpu.gemm.store_beside)")
      .optional();
  d.field("engine", &Spec::engine,
          "Bulk-synchronous: whether the collective is a kernel of the collective library (cu) or copies by DMA "
          "engines (dma)")
      .choices({{"cu", collective::Engine::cu}, {"dma", collective::Engine::dma}})
      .or_default();
  d.field("channels", &Spec::channels, "Bulk-synchronous: largest number of channels of the collective")
      .range(1, 1024)
      .optional();
  d.field("library", &Spec::library,
          "Bulk-synchronous, engine cu: the collective library, a file in configs/libraries; absent: the library of "
          "the system")
      .optional();
}

std::int64_t over(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
double real(std::int64_t x) { return static_cast<double>(x); }

bool one_node(const libraries::EquippedSystem& system) {
  return static_cast<std::int64_t>(system.node.reach().peers()) + 1 == system.ranks();
}

// Returns a problem that both operators can have; nothing if there is none. `buffers`: bytes that a rank needs beside
// its operands and its result.
template <class Spec>
std::optional<Problem> check_common(const Spec& spec, const libraries::EquippedSystem& system, double buffers) {
  const auto ranks = static_cast<Rank>(system.ranks());
  if (ranks < 2)
    return Problem{"tensor parallelism needs at least 2 ranks", "raise system.node.gpus, or use the operator gemm"};
  const GemmSpec product = own_product(spec, ranks);
  if (auto problem = kernel::check_gemm(product, system)) return problem;
  const double element = builder::bytes_of(product.dtype);
  const double operands = element * (real(product.m) * real(product.k) + real(product.k) * real(product.n) +
                                     real(product.m) * real(product.n));
  if (operands + buffers > system.node.gpu.hbm.capacity.value)
    return Problem{fmt::format("matrices and buffers of {:.4g} GB do not fit into the memory of {:.4g} GB",
                               (operands + buffers) * 1e-9, system.node.gpu.hbm.capacity.value * 1e-9),
                   "make m, n or k smaller"};
  if ((spec.schedule == Schedule::split || spec.schedule == Schedule::pipelined) && !one_node(system))
    return Problem{"the split and pipelined schedules only copy inside a node",
                   "use one node, or write schedule: bulk_synchronous or fused"};
  if (spec.schedule == Schedule::fused && spec.mover == Mover::pull && !one_node(system) &&
      std::is_same_v<Spec, AllGatherGemmSpec>)
    return Problem{"workgroups can only load from peers of their node", "use another mover, or one node"};
  const auto tiles = product.schedule.value_or(system.software.gemm.schedule);
  if (spec.schedule == Schedule::fused && spec.mover == Mover::pull && tiles == libraries::Schedule::one_tile &&
      std::is_same_v<Spec, GemmReduceScatterSpec>)
    return Problem{"workgroups that wait for tiles of peers would keep the workgroups that compute tiles from the CUs",
                   "write gemm.schedule: persistent, or use another mover"};
  if (spec.schedule == Schedule::fused && product.split_k.value_or(1) > 1)
    return Problem{"a fused kernel needs whole tiles", "remove split_k"};
  if (spec.schedule == Schedule::fused && tiles == libraries::Schedule::stream_k)
    return Problem{"a fused kernel needs whole tiles", "write gemm.schedule: persistent or one_tile"};
  const bool exchanges = spec.schedule == Schedule::bulk_synchronous || spec.schedule == Schedule::communication;
  if (!exchanges) return std::nullopt;
  if (spec.engine == collective::Engine::cu && !spec.library && !system.software.library)
    return Problem{"the collective needs a collective library",
                   "write library: ../libraries/nccl.yaml here or in the system, or engine: dma inside a node"};
  return collective::check(exchange_of(spec, ranks), system);
}

template <class Spec>
void append_any(builder::Builder& build, const Spec& spec, const std::string& name) {
  constexpr bool gathers = std::is_same_v<Spec, AllGatherGemmSpec>;
  const Rank ranks = build.ranks();
  const std::string prefix = name.empty() ? "" : name + "_";
  const auto exchange = [&] {
    collective::append(build, exchange_of(spec, ranks), prefix + (gathers ? "all_gather" : "reduce_scatter"));
  };
  const auto product = [&] { kernel::append_gemm(build, own_product(spec, ranks), prefix + "gemm"); };
  switch (spec.schedule) {
    case Schedule::bulk_synchronous:
      if constexpr (gathers) exchange();
      product();
      if constexpr (!gathers) exchange();
      return;
    case Schedule::split:
      return append_split(build, spec);
    case Schedule::pipelined:
      return append_pipelined(build, spec);
    case Schedule::fused:
      return append_fused(build, spec, prefix + (gathers ? "all_gather_gemm" : "gemm_reduce_scatter"));
    case Schedule::gemm:
      return product();
    case Schedule::communication:
      return exchange();
  }
}

template <class Spec>
collective::Method method_of(const Spec& spec) {
  collective::Method method;
  method.engine = spec.engine;
  method.channels = spec.channels;
  method.library = spec.library;
  return method;
}

// Adds a note for each written key that the schedule does not use.
void note_unused(const builder::Builder& build, const TensorParallelSpec& spec, const config::Node& written) {
  const Schedule schedule = spec.schedule;
  const bool split = schedule == Schedule::split, in_turn = schedule == Schedule::bulk_synchronous;
  const bool in_parts = split || schedule == Schedule::pipelined;
  const char* const name = split ? "split" : in_parts ? "pipelined" : in_turn ? "bulk_synchronous" : "fused";
  const auto note = [&](std::initializer_list<const char*> keys) {
    for (const char* key : keys) {
      if (build.notes == nullptr || written.find(key) == nullptr) continue;
      build.notes->push_back(fmt::format("{}.{}: no effect, because schedule is {}", build.path, key, name));
    }
  };
  if (in_parts || in_turn)
    note({"mover", "order", "store_beside", "store_buffer", "chunks", "copy_streams", "communication_cus",
          "sum_workgroups", "relay_cus", "fetch"});
  if (in_parts || schedule == Schedule::fused) note({"engine", "channels", "library"});
  const bool near = one_node(build.system), unused = near || spec.mover == Mover::pull;
  if (schedule == Schedule::fused && unused && build.notes != nullptr && written.find("relay_cus"))
    build.notes->push_back(fmt::format("{}.relay_cus: no effect, because {}", build.path,
                                       near ? "all ranks are in one node" : "the workgroups that pull also relay"));
}

// Workgroups that wait for sums of other nodes must not keep the workgroups that send sums from the CUs; otherwise the
// ranks would deadlock. So all workgroups that add must be on CUs at once. Returns a problem if they do not fit.
std::optional<Problem> check_places(const builder::Builder& build, const GemmReduceScatterSpec& spec) {
  const std::int64_t places = builder::resident_workgroups(build, sum_resources);
  if (spec.schedule != Schedule::fused || one_node(build.system) || spec.sum_workgroups <= places) return std::nullopt;
  return Problem{
      fmt::format("sum_workgroups is {}, but between nodes all of them must be on the queue's {} CUs at once",
                  spec.sum_workgroups, build.cus()),
      fmt::format("use at most {}", places)};
}
std::optional<Problem> check_places(const builder::Builder& /*build*/, const AllGatherGemmSpec& /*spec*/) {
  return std::nullopt;
}

template <class Spec>
builder::Operator operator_of(const char* name) {
  using Append = bool (*)(builder::Builder&, const Spec&, const config::Node&, config::Diagnostics&);
  const Append appended = [](builder::Builder& build, const Spec& spec, const config::Node& node,
                             config::Diagnostics& diagnostics) {
    auto problem = check(spec, build.system, build.cus());
    if (!problem) problem = check_places(build, spec);
    if (problem) {
      diagnostics.error(node.place, *problem);
      return false;
    }
    note_unused(build, spec, node);
    append(build, spec, "");
    return true;
  };
  return builder::make_operator<Spec>(name, appended);
}

builder::Knob schedules() {
  return {"schedule", {"bulk_synchronous", "split", "pipelined", "fused"}, "bulk_synchronous", "", ""};
}
builder::Knob movers(std::vector<std::string> names) {
  const std::string usual = names.front();
  return {"mover", std::move(names), usual, "schedule", "fused"};
}
builder::Knob orders(const char* usual) {
  return {"order", {"own_first", "own_last", "in_order"}, usual, "schedule", "fused"};
}

}  // namespace

void GemmReduceScatterSpec::describe(Describer<GemmReduceScatterSpec>& d) {
  d.component("gemm_reduce_scatter",
              "Matrix product whose k is divided among the ranks, followed by the sum of the partial results: every "
              "rank gets the sum of its block of rows (the second layer of a tensor-parallel MLP).");
  describe_common(d, "The product over all ranks: a rank has k / ranks (rounded up) columns of A and rows of B");
  d.field("mover", &GemmReduceScatterSpec::mover,
          "Fused: how a tile reaches its owner. store: workgroups store it into a buffer of the owner, and a second "
          "kernel adds the buffers; add: workgroups add it to the owner's result; pull: the owner's workgroups load "
          "the tiles of the peers and add them while they compute tiles. Between nodes, one GPU of a node adds up the "
          "node's parts and puts their sum to the owner")
      .choices({{"store", Mover::store}, {"add", Mover::add}, {"pull", Mover::pull}})
      .or_default();
  d.field("sum_workgroups", &GemmReduceScatterSpec::sum_workgroups,
          "Fused, store: number of workgroups of the kernel that adds; 0: one per CU")
      .range(0, 65536)
      .or_default();
  d.field("relay_cus", &GemmReduceScatterSpec::relay_cus,
          "Fused (store, add), between nodes: number of workgroups of the kernel that add up the node's parts of other "
          "nodes' tiles, and put the sums, while others compute; 0: the kernel that adds does so after the product")
      .range(0, 4096)
      .or_default();
  d.field("fetch", &GemmReduceScatterSpec::fetch,
          "Fused, pull: which parts of its tiles, and of those that it relays to other nodes, a rank fetches first. "
          "by_source: all parts of one peer, with the peers in the order in which they compute them; by_tile: for one "
          "tile after the other, the parts of all peers, beginning with the next rank")
      .choices({{"by_source", FetchOrder::by_source}, {"by_tile", FetchOrder::by_tile}})
      .or_default();
  d.field("store_buffer", &GemmReduceScatterSpec::store_buffer,
          "Fused, with store_beside: bytes of shared memory that hold a part of a tile, which the workgroup stores "
          "while its next main loop runs; the workgroup waits for the store of the rest. Absent: as large as a tile")
      .positive()
      .optional();
}

void AllGatherGemmSpec::describe(Describer<AllGatherGemmSpec>& d) {
  d.component("all_gather_gemm",
              "All-gather of the rows of A, of which each rank has a block, and the product with the rank's columns of "
              "B (the first layer of a tensor-parallel MLP).");
  describe_common(d, "The product over all ranks: a rank has n / ranks (rounded up) columns of B and C");
  d.field("mover", &AllGatherGemmSpec::mover,
          "Fused: how the rows of A reach a rank. copy_engine: DMA copies during the kernel; push: workgroups of the "
          "kernel store the rank's rows to the peers; pull: workgroups load the rows from the peers. Between nodes, "
          "rows are put to the GPU with the same number, which forwards them inside its node")
      .choices({{"copy_engine", Mover::copy_engine}, {"push", Mover::push}, {"pull", Mover::pull}})
      .or_default();
  d.field("chunks", &AllGatherGemmSpec::chunks,
          "Fused: number of communication tiles of a rank's rows, each with a flag")
      .range(1, 4096)
      .or_default();
  d.field("copy_streams", &AllGatherGemmSpec::copy_streams,
          "Fused, copy_engine: number of streams that copy at the same time, each for its share of the peers; with 1, "
          "the copies go peer by peer, so that the rows that are needed first arrive first")
      .range(1, 64)
      .or_default();
  d.field("communication_cus", &AllGatherGemmSpec::communication_cus,
          "Fused, push and pull: number of workgroups that move rows; the others compute")
      .range(1, 4096)
      .or_default();
}

GemmSpec own_product(const GemmReduceScatterSpec& spec, Rank ranks) {
  GemmSpec product = spec.gemm;
  product.k = over(product.k, ranks);
  return product;
}

GemmSpec own_product(const AllGatherGemmSpec& spec, Rank ranks) {
  GemmSpec product = spec.gemm;
  product.n = over(product.n, ranks);
  return product;
}

collective::Collective exchange_of(const GemmReduceScatterSpec& spec, Rank /*ranks*/) {
  const double element = builder::bytes_of(spec.gemm.dtype);
  collective::Collective all;
  all.kind = collective::Kind::reduce_scatter;
  all.bytes = Bytes{real(spec.gemm.m) * real(spec.gemm.n) * element};
  all.method = method_of(spec);
  all.element_bytes = element;
  return all;
}

collective::Collective exchange_of(const AllGatherGemmSpec& spec, Rank ranks) {
  collective::Collective all;
  all.kind = collective::Kind::all_gather;
  all.bytes = Bytes{real(over(spec.gemm.m, ranks)) * real(spec.gemm.k) * builder::bytes_of(spec.gemm.dtype)};
  all.method = method_of(spec);
  return all;
}

std::optional<Problem> check(const GemmReduceScatterSpec& spec, const libraries::EquippedSystem& system,
                             std::int64_t cus) {
  if (spec.schedule == Schedule::fused && spec.mover != Mover::pull && !one_node(system) && spec.relay_cus >= cus)
    return Problem{
        fmt::format("{} relaying workgroups leave none of the queue's {} CUs to compute", spec.relay_cus, cus),
        cus > 1 ? fmt::format("use at most {}", cus - 1) : "remove relay_cus, or use more CUs"};
  if (spec.gemm.k < system.ranks())
    return Problem{fmt::format("k {} leaves ranks without a column of A", spec.gemm.k),
                   fmt::format("use at least {}", system.ranks())};
  const Bytes shared = system.node.gpu.compute.lds_per_cu;
  if (spec.store_buffer && spec.schedule == Schedule::fused) {
    if (!spec.store_beside.value_or(system.software.gemm.store_beside))
      return Problem{"store_buffer has no effect, because no store overlaps with the next main loop",
                     "set store_beside: true, or remove store_buffer"};
    if (*spec.store_buffer > shared)
      return Problem{fmt::format("store_buffer is {:.0f} B, which is more than the shared memory of a CU",
                                 spec.store_buffer->value),
                     fmt::format("use at most {:.0f} B", shared.value)};
  }
  const double parts = spec.schedule == Schedule::fused && spec.mover == Mover::store
                           ? real(spec.gemm.m) * real(spec.gemm.n) * builder::bytes_of(spec.gemm.dtype)
                           : 0;
  return check_common(spec, system, parts);
}

std::optional<Problem> check(const AllGatherGemmSpec& spec, const libraries::EquippedSystem& system, std::int64_t cus) {
  if (spec.gemm.n < system.ranks())
    return Problem{fmt::format("n {} leaves ranks without a column of B", spec.gemm.n),
                   fmt::format("use at least {}", system.ranks())};
  if (spec.schedule == Schedule::fused && spec.mover != Mover::copy_engine && spec.communication_cus >= cus)
    return Problem{fmt::format("{} communicating workgroups leave none of the queue's {} CUs to compute",
                               spec.communication_cus, cus),
                   cus > 1 ? fmt::format("use at most {}", cus - 1) : "use mover: copy_engine, or more CUs"};
  return check_common(spec, system, 0);
}

void append(builder::Builder& build, const GemmReduceScatterSpec& spec, const std::string& name) {
  append_any(build, spec, name);
}

void append(builder::Builder& build, const AllGatherGemmSpec& spec, const std::string& name) {
  append_any(build, spec, name);
}

std::int64_t FusedLaunch::width(std::int64_t column) const {
  return std::clamp<std::int64_t>(columns - column * gemm.kernel.tile.n, 0, gemm.kernel.tile.n);
}

std::int64_t FusedLaunch::whole_columns() const { return over(columns, gemm.kernel.tile.n); }

std::int64_t FusedLaunch::tiles_of(std::int64_t workgroup) const {
  return workgroup >= order.tiles() ? 0 : over(order.tiles() - workgroup, workgroups);
}

FusedLaunch fused_launch(const TensorParallelSpec& spec, const GemmSpec& own, const builder::Builder& build,
                         std::int64_t taken) {
  GemmSpec whole = own;
  whole.split_k = 1;
  whole.row_blocks = build.ranks();
  const libraries::GemmLibrarySpec& library = build.system.software.gemm;
  kernel::GemmLaunch gemm = launch_of(whole, build.gpu(), library, build.cus());
  const kernel::TileGrid grid({whole.m, whole.n, whole.k, builder::bytes_of(whole.dtype)}, gemm.kernel);
  const TileOrder order(
      {whole.m, gemm.kernel.tile.m, grid.rows, grid.columns, build.ranks(), build.reach().peers() + 1}, spec.order);
  FusedLaunch launch{.gemm = std::move(gemm), .order = order, .columns = whole.n};
  launch.workgroups = launch.gemm.workgroups;
  if (launch.gemm.schedule != libraries::Schedule::one_tile) {
    const std::int64_t places = builder::resident_workgroups(build, launch.gemm.resources);
    launch.workgroups = std::clamp<std::int64_t>(places - taken, 1, launch.workgroups);
  }
  if (taken > 0) launch.gemm.resources.cluster = 1;  // workgroups that move rows are in no cluster
  launch.store_beside = spec.store_beside.value_or(launch.gemm.store_beside);
  return launch;
}

builder::Operator gemm_reduce_scatter_operator() {
  builder::Operator made = operator_of<GemmReduceScatterSpec>("gemm_reduce_scatter");
  made.knobs = {schedules(),
                movers({"store", "add", "pull"}),
                orders("own_last"),
                {"fetch", {"by_source", "by_tile"}, "by_source", "mover", "pull"},
                {"relay_cus", {"0", "8", "32"}, "0", "schedule", "fused"},
                {"store_beside", {"true", "false"}, "", "schedule", "fused"}};
  return made;
}

builder::Operator all_gather_gemm_operator() {
  builder::Operator made = operator_of<AllGatherGemmSpec>("all_gather_gemm");
  made.knobs = {schedules(),
                movers({"copy_engine", "push", "pull"}),
                orders("own_first"),
                {"chunks", {"1", "2", "4", "8"}, "1", "schedule", "fused"},
                {"copy_streams", {"1", "4"}, "1", "mover", "copy_engine"},
                {"communication_cus", {"8", "16", "32"}, "16", "mover", "push"}};
  return made;
}

}  // namespace moire::tensor_parallel
