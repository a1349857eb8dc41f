#include "models/workload/own/spec.hpp"

namespace moire::own {

namespace {

constexpr double bytes_of_thread = 64;  // default in_flight per thread: four loads of 16 B, the widest load instruction

template <class Spec>
void describe_arithmetic(config::Describer<Spec>& d) {
  d.field("unit", &Spec::unit, "Whether the vector or the matrix units do the work")
      .choices({{"vector", Unit::vector}, {"matrix", Unit::matrix}})
      .or_default();
  d.field("dtype", &Spec::dtype, "Element type: fp32 on vector units, fp16 or bf16 on matrix units")
      .choices({{"fp32", Element::fp32}, {"fp16", Element::fp16}, {"bf16", Element::bf16}})
      .or_default();
  d.check("dtype", [](const Spec& s) -> std::optional<config::Problem> {
    if ((s.unit == Unit::matrix) == (s.dtype != Element::fp32)) return std::nullopt;
    return config::Problem{"does not match the unit",
                           "write unit: vector with dtype: fp32, or unit: matrix with fp16 or bf16"};
  });
}

template <class Spec>
void describe_in_flight(config::Describer<Spec>& d) {
  d.field("in_flight", &Spec::in_flight,
          "Bytes that the workgroup has requested but not yet received; absent: the value of the kernel")
      .positive()
      .fractional()
      .optional();
}

template <class Spec>
void describe_flag(config::Describer<Spec>& d, std::string meaning) {
  d.field("flag", &Spec::flag, std::move(meaning)).example("ready");
  d.field("index", &Spec::index, "Which of the flags with that name; absent: 0").example("rank").optional();
}

template <class Spec>
void describe_last(config::Describer<Spec>& d) {
  d.field(
       "last", &Spec::last,
       "The workgroup first increments a counter of its own rank; only the workgroup that raises the counter to `of` "
       "continues and sends")
      .optional();
}

}  // namespace

void LoadSpec::describe(config::Describer<LoadSpec>& d) {
  d.component("kernel_load", "Step of a kernel: loads from its own memory or from that of a GPU of the node.");
  d.field("name", &LoadSpec::name, "Name of the phase in metrics and timelines").or_default();
  d.field("bytes", &LoadSpec::bytes, "Number of bytes").example("tile_m * k * 2");
  d.field("from", &LoadSpec::from, "Rank whose memory is read; absent: its own rank").example("peer").optional();
  d.field("cache_miss", &LoadSpec::cache_miss, "Share of the bytes that no cache holds").range(0, 1).or_default();
  d.field("row", &LoadSpec::row,
          "Bytes of one random access, to which the memory's access granularity applies; absent: long runs")
      .positive()
      .optional();
  d.field("pipelined", &LoadSpec::pipelined,
          "false: a batch is requested and waited for, then the next one; true: loads flow all the time")
      .or_default();
  describe_in_flight(d);
}

void StoreSpec::describe(config::Describer<StoreSpec>& d) {
  d.component("kernel_store", "Step of a kernel: stores to its own memory or to that of a GPU of the node.");
  d.field("name", &StoreSpec::name, "Name of the phase in metrics and timelines").or_default();
  d.field("bytes", &StoreSpec::bytes, "Number of bytes").example("tile_m * tile_n * 2");
  d.field("to", &StoreSpec::to, "Rank whose memory is written; absent: its own rank").example("owner").optional();
  d.field("cache_miss", &StoreSpec::cache_miss, "Share of the bytes that leaves the caches before the kernel ends")
      .range(0, 1)
      .or_default();
  d.field("posted", &StoreSpec::posted,
          "true: the workgroup continues at once, and a fence or its end waits for the stores; false: it waits here")
      .or_default();
  describe_in_flight(d);
}

void MathSpec::describe(config::Describer<MathSpec>& d) {
  d.component("kernel_math", "Step of a kernel: arithmetic on the contents of registers and LDS.");
  d.field("name", &MathSpec::name, "Name of the phase in metrics and timelines").or_default();
  d.field("flop", &MathSpec::flop, "Number of floating-point operations").example("2 * tile_m * tile_n * k");
  describe_arithmetic(d);
}

void ReduceSpec::describe(config::Describer<ReduceSpec>& d) {
  d.component("kernel_reduce", "Step of a kernel: adds buffers of its own memory and stores the sum there.");
  d.field("name", &ReduceSpec::name, "Name of the phase in metrics and timelines").or_default();
  d.field("bytes", &ReduceSpec::bytes, "Bytes of the sum").example("tile_m * tile_n * 4");
  d.field("sources", &ReduceSpec::sources, "Number of buffers that are added, the same for all workgroups")
      .example("ranks");
  d.field("dtype", &ReduceSpec::dtype, "Element type of the buffers; sums are made in fp32")
      .choices({{"fp32", Element::fp32}, {"fp16", Element::fp16}, {"bf16", Element::bf16}})
      .or_default();
  d.field("cache_miss", &ReduceSpec::cache_miss, "Share of the bytes that the caches do not hold")
      .range(0, 1)
      .or_default();
  describe_in_flight(d);
}

void WorkSpec::describe(config::Describer<WorkSpec>& d) {
  d.component("kernel_work",
              "Step of a kernel: loads, stores and arithmetic that overlap, as in a software pipeline; it takes as "
              "long as the slowest of them. Demands are per unit of work and the same for all workgroups; `amount` is "
              "the number of units.");
  d.field("name", &WorkSpec::name, "Name of the phase in metrics and timelines").or_default();
  d.field("amount", &WorkSpec::amount, "Number of units of this step; absent: 1")
      .example("min(8, vectors - first)")
      .optional();
  d.field("read", &WorkSpec::read, "Bytes loaded from its own memory").optional();
  d.field("write", &WorkSpec::write, "Bytes stored to its own memory").optional();
  d.field("flop", &WorkSpec::flop, "Number of floating-point operations").optional();
  d.field("instructions", &WorkSpec::instructions,
          "Wavefront instructions of the workgroup that its CU issues; absent: issue slots are no limit")
      .optional();
  d.field("peer", &WorkSpec::peer, "Rank of the node to which peer_read and peer_write refer").optional();
  d.field("peer_read", &WorkSpec::peer_read, "Bytes loaded from the peer's memory; cannot be combined with `read`")
      .optional();
  d.field("peer_write", &WorkSpec::peer_write, "Bytes stored to the peer's memory").optional();
  describe_arithmetic(d);
  d.field("read_miss", &WorkSpec::read_miss, "Share of `read` that no cache holds").range(0, 1).or_default();
  d.field("write_miss", &WorkSpec::write_miss,
          "Share of the stored bytes that leaves the caches before the kernel ends")
      .range(0, 1)
      .or_default();
  d.field("row", &WorkSpec::row,
          "Length of the rows that `read` consists of besides `dependent_read`, if they lie anywhere in memory")
      .positive()
      .optional();
  d.field("mixed_stores", &WorkSpec::mixed_stores,
          "Share of stores in the traffic with which these bytes mix; absent: the share in the step itself")
      .range(0, 1)
      .optional();
  d.field("dependent_loads", &WorkSpec::dependent_loads,
          "If not pipelined: number of loads of a unit that must return before its rows can be requested")
      .range(0, 1e6)
      .or_default();
  d.field("dependent_read", &WorkSpec::dependent_read,
          "Bytes of `read` that are loaded before the rows (row numbers); no cache holds them")
      .range(Bytes{0}, Bytes{1e12})
      .or_default();
  d.field("pause", &WorkSpec::pause, "If not pipelined: time of a unit in which nothing is requested").or_default();
  d.field("held", &WorkSpec::held,
          "If pipelined: time for which loaded bytes keep their buffer before the next load can use it")
      .or_default();
  d.field("random_rows", &WorkSpec::random_rows, "true: rows anywhere in memory, not runs of addresses").or_default();
  d.field("walk", &WorkSpec::walk,
          "How the workgroups walk through memory: apart: each through a region of its own; in_order: one behind the "
          "other; in_strides: all by the same stride (a grid-stride loop)")
      .choices({{"apart", program::Walk::apart},
                {"in_order", program::Walk::in_order},
                {"in_strides", program::Walk::in_strides}})
      .or_default();
  d.field("pipelined", &WorkSpec::pipelined,
          "true: loads flow all the time; false: a batch is requested and waited for, then the next one")
      .or_default();
  d.field("posted", &WorkSpec::posted,
          "true: the workgroup continues at once, and a fence or its end waits for the stores")
      .or_default();
  describe_in_flight(d);
  d.check([](const WorkSpec& s) -> std::optional<config::Problem> {
    if (!s.read && !s.write && !s.flop && !s.peer_read && !s.peer_write)
      return config::Problem{"the work has no demands", "write read, write, flop, peer_read or peer_write"};
    if ((s.peer_read || s.peer_write) != s.peer.has_value())
      return config::Problem{"peer and peer_read or peer_write only go together", "write both or neither"};
    if (s.peer_read && s.read)
      return config::Problem{"the step loads from two memories at once", "write them as two steps"};
    return std::nullopt;
  });
}

void LastSpec::describe(config::Describer<LastSpec>& d) {
  d.component("kernel_last",
              "If several workgroups complete parts of a result, only the last of them continues and sends.");
  d.field("counter", &LastSpec::counter, "Name of one of the kernel's flags, used as the counter")
      .example("slice_done");
  d.field("index", &LastSpec::index, "Which of the flags with that name, on its own rank; absent: 0").optional();
  d.field("of", &LastSpec::of, "Number of parts").example("tasks_per_slice");
}

void PutSpec::describe(config::Describer<PutSpec>& d) {
  d.component("kernel_put",
              "Step of a kernel: a message through the NIC to any rank. The workgroup continues at once.");
  d.field("to", &PutSpec::to, "Rank that receives the message").example("mod(rank + gpus, ranks)");
  d.field("bytes", &PutSpec::bytes, "Number of bytes, at least 1 B").example("64 KiB");
  describe_flag(d, "Flag at the receiver that is raised when the whole message has arrived");
  d.field("queue_pair", &PutSpec::queue_pair, "Queue pair of the message, in which messages arrive in order; absent: 0")
      .optional();
  d.field("proxied", &PutSpec::proxied, "true: a host thread posts the message; false: the GPU posts it").or_default();
  describe_last(d);
}

void CopySpec::describe(config::Describer<CopySpec>& d) {
  d.component("kernel_copy",
              "Step of a kernel: a host thread is asked to start a copy by a DMA engine to a GPU of the node. The "
              "workgroup continues at once.");
  d.field("to", &CopySpec::to, "Rank of the node that receives the copy").example("peer");
  d.field("bytes", &CopySpec::bytes, "Number of bytes, at least 1 B").example("1 MiB");
  describe_flag(d, "Flag at the receiver that is raised when the whole copy has arrived");
}

void SignalSpec::describe(config::Describer<SignalSpec>& d) {
  d.component("kernel_signal",
              "Step of a kernel: raises a flag of its own rank or of a GPU of the node. Earlier stores are only "
              "visible before the flag if there is a fence step in between.");
  d.field("to", &SignalSpec::to, "Rank whose flag is raised").example("owner");
  describe_flag(d, "Name of one of the kernel's flags");
  describe_last(d);
}

void WaitSpec::describe(config::Describer<WaitSpec>& d) {
  d.component("kernel_wait", "Step of a kernel: waits until a flag of its own rank was raised a number of times.");
  describe_flag(d, "Name of one of the kernel's flags");
  d.field("count", &WaitSpec::count, "Number of times that the flag was raised since the kernel began")
      .example("ranks");
}

void FenceSpec::describe(config::Describer<FenceSpec>& d) {
  d.component(
      "kernel_fence",
      "Step of a kernel: waits until all posted stores of the workgroup have arrived, and for the time of the fence.");
  d.field("time", &FenceSpec::time, "Time of the fence itself; absent: port.fence of the GPU").optional();
}

void PauseSpec::describe(config::Describer<PauseSpec>& d) {
  d.component("kernel_pause", "Step of a kernel: time in which the workgroup requests nothing.");
  d.field("time", &PauseSpec::time, "Length of the pause").positive();
  d.field("times", &PauseSpec::times, "Number of pauses; absent: one").optional();
}

void ForSpec::describe(config::Describer<ForSpec>& d) {
  d.component("kernel_for", "Steps of a kernel that are repeated for each value of a name: tiles, tasks, slices.");
  d.field("each", &ForSpec::each, "Name of the value in the formulas inside").example("tile");
  d.field("from", &ForSpec::from, "First value; absent: 0").example("workgroup").optional();
  d.field("below", &ForSpec::below, "Limit: all values are smaller").example("tiles");
  d.field("step", &ForSpec::step, "Difference between two values; absent: 1").example("workgroups").optional();
  d.field("do", &ForSpec::steps, "Steps for each value").example("[{wait: {flag: ready, count: 1}}]");
}

void ForPeersSpec::describe(config::Describer<ForPeersSpec>& d) {
  d.component("kernel_for_peers",
              "Steps of a kernel that are repeated for each other rank, beginning with the next one.");
  d.field("each", &ForPeersSpec::each, "Name of the other rank in the formulas inside").example("peer");
  d.field("of", &ForPeersSpec::of, "node: the ranks of its own node; others: the ranks of other nodes; all: both")
      .choices({{"node", Peers::node}, {"others", Peers::others}, {"all", Peers::all}})
      .or_default();
  d.field("do", &ForPeersSpec::steps, "Steps for each rank").example("[{signal: {to: peer, flag: ready}}]");
}

void TakeSpec::describe(config::Describer<TakeSpec>& d) {
  d.component("kernel_take",
              "Steps of a kernel for values that are not assigned to workgroups: a free workgroup takes the next value "
              "from a counter of the GPU. A kernel can have one such step, outside of other loops; its formulas cannot "
              "use the workgroup.");
  d.field("each", &TakeSpec::each, "Name of the value in the formulas inside").example("tile");
  d.field("below", &TakeSpec::below, "Limit: values run from 0 to below it; the same for all workgroups")
      .example("tiles");
  d.field("do", &TakeSpec::steps, "Steps for each value").example("[{math: {flop: 1e9, unit: matrix, dtype: bf16}}]");
}

void IfSpec::describe(config::Describer<IfSpec>& d) {
  d.component("kernel_if", "Steps of a kernel that are only taken if a formula is not 0.");
  d.field("when", &IfSpec::when, "The formula").example("same_node");
  d.field("do", &IfSpec::steps, "Steps if it is not 0").example("[{fence: {}}]");
  d.field("else", &IfSpec::otherwise, "Steps if it is 0").or_default();
}

void StepSpec::describe(config::Describer<StepSpec>& d) {
  d.component("kernel_step", "One step of a workgroup: one of these keys.");
  d.field("load", &StepSpec::load, "Loads from memory");
  d.field("store", &StepSpec::store, "Stores to memory");
  d.field("math", &StepSpec::math, "Arithmetic");
  d.field("reduce", &StepSpec::reduce, "Adds buffers");
  d.field("work", &StepSpec::work, "Loads, stores and arithmetic that overlap");
  d.field("put", &StepSpec::put, "A message through the NIC");
  d.field("copy", &StepSpec::copy, "A copy by a DMA engine, which a host thread starts");
  d.field("signal", &StepSpec::signal, "Raises a flag");
  d.field("wait", &StepSpec::wait, "Waits for a flag");
  d.field("fence", &StepSpec::fence, "Waits for the workgroup's stores");
  d.field("pause", &StepSpec::pause, "Takes time and nothing else");
  d.field("let", &StepSpec::let, "Names for the formulas of the steps that follow")
      .example("{owner: 'mod(tile, ranks)'}");
  d.field("for", &StepSpec::loop, "Steps for each value");
  d.field("for_peers", &StepSpec::peers, "Steps for each other rank");
  d.field("take", &StepSpec::take, "Steps for values from a counter");
  d.field("if", &StepSpec::branch, "Steps under a condition");
}

void OwnKernelSpec::describe(config::Describer<OwnKernelSpec>& d) {
  d.component(
      "kernel",
      "A user-defined kernel: a grid of workgroups, the resources that each workgroup occupies, and the steps that it "
      "takes. Formulas are numbers with + - * / ( ), comparisons, && || ?:, min, max, floor, ceil, abs, div, mod, "
      "ceil_div and sizes (16 KiB) over names: rank, ranks, node, nodes, gpus (of a node), gpu (in its node), cus, "
      "resident (workgroups that the GPU holds), workgroup, workgroups, and the names of `let` and of loops.");
  d.field("name", &OwnKernelSpec::name, "Name in metrics and timelines").or_default();
  d.field("let", &OwnKernelSpec::let, "Names for formulas, in order; none of them can use rank or workgroup")
      .example("{tiles: 'ceil_div(m, 128) * ceil_div(n, 128)'}")
      .optional();
  d.field("workgroups", &OwnKernelSpec::workgroups, "Number of workgroups in the grid, on every rank")
      .example("min(tiles, resident)");
  d.field("threads", &OwnKernelSpec::threads, "Threads of a workgroup").range(1, 1024).or_default();
  d.field("registers_per_thread", &OwnKernelSpec::registers_per_thread, "Registers per thread")
      .range(8, 512)
      .or_default();
  d.field("lds", &OwnKernelSpec::lds, "LDS (shared memory) of a workgroup").or_default();
  d.field("cluster", &OwnKernelSpec::cluster, "Number of workgroups placed together inside one group of CUs")
      .range(1, 64)
      .or_default();
  d.field("in_flight", &OwnKernelSpec::in_flight,
          "Bytes that a workgroup has requested but not yet received; absent: 64 B per thread (four loads of 16 B)")
      .positive()
      .fractional()
      .optional();
  d.field("flags", &OwnKernelSpec::flags,
          "Flags in the memory of every rank: the number of flags for each name; all are 0 when the kernel begins")
      .example("{ready: ranks}")
      .optional();
  d.field("steps", &OwnKernelSpec::steps, "The steps of a workgroup, in order (`moire explain kernel_step`)")
      .example("[{load: {bytes: 1 MiB}}]");
}

Bytes OwnKernelSpec::loads_in_flight() const {
  return in_flight.value_or(Bytes{static_cast<double>(threads) * bytes_of_thread});
}

}  // namespace moire::own
