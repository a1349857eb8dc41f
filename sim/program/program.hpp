// The program that a replay runs: every rank has queues of operations, and an operation is a kernel of workgroups, a
// copy, a wait, a signal or a delay.
//
// One description serves all ranks: kernel bodies and callbacks get the rank as an argument. This header depends
// neither on operators nor on hardware. Generators (models/workload/kernel, models/workload/collective) and trace
// readers make programs; models/hardware/replay runs them.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "sim/core/quantity.hpp"

namespace moire::program {

using Rank = std::uint32_t;
using FlagRef = std::uint32_t;  // index of one flag of one rank, unique in the program
inline constexpr FlagRef no_flag = UINT32_MAX;
inline constexpr Rank no_rank = UINT32_MAX;

enum class Arithmetic : std::uint8_t { vector_fp32, matrix_16bit };

// How the workgroups of a kernel walk through memory, which determines the length of its runs of reads and of writes.
enum class Walk : std::uint8_t {
  apart,       // each through a region of its own
  in_order,    // one behind the other: a workgroup that ends makes room for the one with the next block
  in_strides,  // all by the same stride (a grid-stride loop), so they drift apart
};

// Instructions that the wavefronts of a workgroup execute per unit of work.
struct Instructions {
  double all = 0;         // 0: not counted
  double with_loads = 0;  // of them, those whose time is part of the time of loads
  double integer = 0;     // of them, integer arithmetic
  double lone = 0;        // of them, those of one wavefront for which the others wait
  bool operator==(const Instructions&) const = default;
};

// What a workgroup demands to advance by one unit of work. A phase that overlaps loads, stores and arithmetic (software
// pipelining) has several demands and takes as long as the slowest demand. Amounts are bytes or FLOP per unit of work.
struct PhaseShape {
  std::string name;
  double read = 0;             // loaded from memory of the workgroup's own GPU
  double read_miss = 1;        // share of `read` that misses all caches
  double read_overfetch = 1;   // bytes fetched from HBM per missed byte; > 1 if rows are shorter than one HBM access
  double read_merged = 0;      // share of `read` that arrives with what another CU of the group has just requested
  Bytes row{};                 // length of the rows that `read` consists of, if they lie anywhere in memory; 0: none
  double write = 0;            // stored to memory of the workgroup's own GPU
  double peer_write = 0;       // stored to the peer's memory over the scale-up link
  double write_miss = 1;       // share of the stored bytes that reaches memory before the kernel ends
  double peer_write_cost = 1;  // link time of a byte of peer_write, relative to contiguous stores of a single sender
  double issue_cost = 1;       // CU issue time of the loads and stores, relative to those of a plain loop
  double peer_read = 0;        // loaded from the peer's memory over the scale-up link; `read` is 0 then
  double l2_extra = 0;         // bytes of L2 traffic with the same cost as additions in the L2 and as popular lines
  // Not pipelined only: seconds by which a batch takes longer per byte of it, because the popular lines of the batches
  // of all CUs come from one slice of the L2, one after the other.
  double slice_wait = 0;
  // The switch of the node copies and adds (multicast, in-network reduction): peer_write is stored to every GPU of the
  // node, including the sender, and peer_read loads the sum of the data of all these GPUs. The phase's peer is then the
  // rank itself.
  bool by_switch = false;
  Walk walk = Walk::apart;
  // Share of stores in the memory traffic while this phase runs. Negative: computed from the bytes of this shape.
  double mixed_stores = -1;
  double flop = 0;
  Instructions instructions{};
  // Power of the arithmetic relative to dense matrix arithmetic on random data (high power lowers the clock).
  double power = 0;
  Arithmetic unit = Arithmetic::vector_fp32;
  // false: the workgroup requests a batch of loads, waits for all of them, then requests the next batch. true: loads
  // overlap all the time.
  bool pipelined = true;
  Time held{};  // pipelined only: how long loaded bytes keep their buffer before the next load can use it
  // pipelined only: workgroups that load in step, so that each waits for the loads of all. If n workgroups with
  // held_each > 0 are active on the GPU, bytes keep their buffer for held_in_step + n x held_each, but for no longer
  // than held_most, and no shorter than `held`.
  Time held_in_step{};
  double held_each = 0;  // seconds, because it can be less than a picosecond
  Time held_most{};
  // Only for phases with a panel, which is a set of workgroups that load the same bytes (Phase::panel). The caches keep
  // a line for `residence`. If a workgroup is a time t behind the previous workgroup of its panel, the share t /
  // residence of the panel's bytes is evicted. The workgroup does this share of its work with shape `out_of_step`, in
  // which it loads these bytes itself.
  Time residence{};
  std::uint16_t out_of_step = 0;
  bool random_rows = false;  // not pipelined only: rows are scattered over memory, not contiguous
  // Four fields for phases that are not pipelined, all per unit of work. dependent_loads: number of loads (such as of
  // row numbers) that must return one after the other before the rows can be requested. dependent_read: the bytes of
  // `read` that are loaded before the rows; all of them miss the caches. pause: time in which the workgroup requests
  // nothing (barriers, instruction fetch). row_waits: how often a wavefront waits for the first row of a batch before
  // it requests the others.
  double dependent_loads = 0;
  double dependent_read = 0;
  Time pause{};
  double row_waits = 0;
  std::int64_t threads = 256;       // of the workgroup
  std::int64_t active_threads = 0;  // threads that take part in the phase; 0: all
  Bytes in_flight;                  // bytes of loads outstanding per workgroup (of stores, if the phase loads nothing)
  bool operator==(const PhaseShape&) const = default;

  // Returns how many rows the workgroup requests, and how many of them the memory opens because they miss the caches.
  double requested_rows() const { return row.value > 0 ? (read - dependent_read) / row.value : 0; }
  double rows() const { return row.value > 0 ? (read * read_miss - dependent_read) / row.value : 0; }

  // Returns the bytes that the memory fetches for `read`. What dependent loads load is contiguous, so the memory
  // fetches no more than these bytes.
  double fetched() const { return (read * read_miss - dependent_read) * read_overfetch + dependent_read; }
};

// One step of a workgroup.
inline constexpr std::uint32_t no_panel = UINT32_MAX;
struct Phase {
  enum class Kind : std::uint8_t {
    nothing,  // no operation: the workgroup continues with the next step at once
    work,     // does `amount` units of kernel.shapes[shape]; stores go to `peer`
    delay,    // lasts `duration`; reported as phase `shape` if `stands_for_work`
    fence,    // waits until all posted work of the workgroup is done, then `duration` more
    drain,    // only waits until all posted work of the workgroup is done
    wait,     // waits until `flag` has reached `target`
    signal,   // raises `flag` at `peer` after `duration` and the latency of a store; the workgroup goes on meanwhile
    put,      // non-blocking message of `bytes` to `peer` through the NIC; raises `flag` at `peer` when complete
    take,     // does items of the kernel's queue until the queue is empty, then continues with the next step
  };
  Kind kind = Kind::nothing;
  bool posted = false;  // work: runs concurrently with the workgroup's next steps, like stores that nobody waits for
  // signal: one thread raises the workgroup's flags, one after the other. The workgroup waits until the thread has done
  // so for earlier signals.
  bool in_turn = false;
  bool stands_for_work = false;  // delay: replays a work phase with its recorded duration
  bool instructions = false;     // delay: of instructions, which take `duration` at the GPU's own clock
  // put: a host thread posts the message to the NIC. If the peer is within reach of stores (in the same node), the host
  // thread copies the bytes by DMA instead, `duration` after the workgroup's request.
  bool proxied = false;
  // put: the switches between nodes sum the messages that one GPU of each node, always with the same number in its
  // node, puts on this queue pair, and send the sum to all these GPUs. `peer` is then the rank itself, whose flag rises
  // when the sum arrives.
  bool summed = false;
  std::uint16_t shape = 0;  // work: index in kernel.shapes
  // work: workgroups of the same panel load the same bytes one after the other, and the caches keep these bytes for a
  // while (PhaseShape::residence).
  std::uint32_t panel = no_panel;
  Rank peer = 0;
  double amount = 0;
  Bytes bytes;
  // put: a GPU whose NIC is used in place of another NIC. A relay on the sender's node replaces the sender's NIC, and
  // the data must lie in the relay's memory. A relay on the receiver's node replaces the receiver's NIC.
  Rank relay = no_rank;
  Time duration;
  FlagRef flag = no_flag;
  std::int64_t target = 0;
  std::uint32_t queue_pair = 0;
  // signal, put: the workgroup first raises this counter of its own rank. Only the workgroup that raises it to
  // `gate_target` sends. Fused kernels use such a counter for each slice of results.
  FlagRef gate = no_flag;
  std::int64_t gate_target = 0;
  // Number of `nothing` steps that were skipped between the requested step and the returned step.
  std::uint32_t skipped = 0;
};

// Ranks that an operation runs on; null: all. Every other rank continues with its next operation at once.
using RankSet = std::shared_ptr<const std::vector<bool>>;

struct WorkgroupResources {
  std::int64_t threads = 256;
  std::int64_t registers_per_thread = 32;
  Bytes lds;
  std::int64_t cluster = 1;  // number of workgroups in a cluster, which is placed as a whole in one group of CUs
};

// Describes what each workgroup of a kernel does. A body has no state: the same call always gives the same result.
class KernelBody {
 public:
  virtual ~KernelBody() = default;
  virtual std::int64_t workgroups(Rank rank) const = 0;
  // Fills `phase`, which the caller has reset, with step `step` of a workgroup, or with the next step that is not
  // `nothing`. Returns false when the workgroup has ended.
  virtual bool phase(Rank rank, std::int64_t workgroup, std::uint32_t step, Phase& phase) const = 0;
  // Returns the number of strands: groups of wavefronts that execute their own steps concurrently on the workgroup's
  // CU. The workgroup ends when all strands have ended. Each strand has as many bytes in flight as its shapes state.
  virtual std::uint32_t strands(Rank /*rank*/) const { return 1; }
  // Called instead of `phase` if there is more than one strand.
  virtual bool strand_phase(Rank rank, std::int64_t workgroup, std::uint32_t /*strand*/, std::uint32_t step,
                            Phase& phase) const {
    return this->phase(rank, workgroup, step, phase);
  }
  // Returns the number of items in the kernel's shared work queue. A workgroup at a `take` step does the next item, as
  // in persistent kernels with a tile counter.
  virtual std::int64_t items(Rank /*rank*/) const { return 0; }
  virtual bool item_phase(Rank /*rank*/, std::int64_t /*item*/, std::uint32_t /*step*/, Phase& /*phase*/) const {
    return false;
  }
  // True if the kernel stays the same when every rank r, as executor and as peer, is replaced by rank r + by (modulo
  // the number of ranks). Flag indices within a rank may differ. False if this is not known; turn.hpp then compares the
  // steps of short kernels one by one.
  virtual bool turns(Rank /*by*/) const { return false; }
  // The same, but every rank r is replaced by the rank that is `by` further inside its block of `block` consecutive
  // ranks, around the block.
  virtual bool turns_within(Rank /*by*/, Rank /*block*/) const { return by_itself(); }
  // True if every rank does the same and uses only its own GPU: no flags, no puts, no memory of other ranks. False if
  // this is not known.
  virtual bool by_itself() const { return false; }
};

struct Kernel {
  std::string name;
  WorkgroupResources resources;
  std::vector<PhaseShape> shapes;
  std::shared_ptr<const KernelBody> body;
  RankSet ranks{};
  // In a stream of a host thread (Queue::by_host): one call enqueues this kernel together with the operation before it.
  bool together = false;
};

// One copy, or one decompression. A DMA engine copies within the rank, or to a peer that stores can reach (in the same
// node). The NICs copy to any other peer, at the request of a host thread. The rank's decompression engine decompresses
// within the rank.
struct Transfer {
  // to_host: from the rank's GPU into the memory of its node's host; `peer` is the rank itself. from_host: from the
  // host's memory into the memory of `peer`, a GPU of the same node, by an engine of `peer`.
  enum class Way : std::uint8_t { direct, to_host, from_host };
  Rank peer = 0;
  Bytes bytes;
  FlagRef flag = no_flag;  // raised at the peer when the copy is complete
  double ratio = 0;        // not 0: decompresses, writing `bytes` and reading 1 / ratio of them
  Way way = Way::direct;
  // Not 0: bytes of the host's memory that such copies use again and again. What the caches of the host hold of them
  // does not wait for the memory itself.
  Bytes host_footprint{};
  bool again = false;  // the same copy within a GPU ran just before, so the L2 may still hold its bytes
};
struct Copy {
  std::string name;
  std::function<Transfer(Rank)> transfer;
  // Copies that begin together with `transfer`, as if each had a queue of its own that forks from this queue and joins
  // it again. Each free engine takes one copy. An engine continues from one copy to the next as within a queue. Copies
  // of zero bytes are skipped.
  std::vector<std::function<Transfer(Rank)>> beside{};
  RankSet ranks{};
  // As Kernel::together. A copy from the host's memory then waits, on its engine, for the copy into it before it.
  bool together = false;
};

// Holds up a queue until `flag` of the queue's rank has reached `target`.
struct Wait {
  std::string name;
  std::function<FlagRef(Rank)> flag;
  std::int64_t target = 1;
  RankSet ranks{};
};

// Raises a flag of the queue's rank when the queue reaches this operation. Other queues of the rank can wait for the
// flag, as for an event.
struct Signal {
  std::string name;
  std::function<FlagRef(Rank)> flag;
  RankSet ranks{};
};

struct Delay {
  std::string name;
  Time duration;
  RankSet ranks{};
  // What the host thread does in a stream that it serves (Queue::by_host): it makes a call, or it polls, and when the
  // delay is over it finds the end of the operation before (HostSpec::query).
  enum class Thread : std::uint8_t { waits, calls, polls } thread = Thread::waits;
};

using Operation = std::variant<Kernel, Copy, Wait, Signal, Delay>;
const std::string& name_of(const Operation& operation);
bool runs_on(const Operation& operation, Rank rank);

inline constexpr std::uint32_t no_queue = UINT32_MAX;
struct Queue {
  std::string name;
  int priority = 0;  // workgroups of queues with a higher priority are placed first
  std::vector<Operation> operations;
  std::vector<std::uint32_t> cus{};  // CUs on which the queue's kernels may be placed; empty: all
  // The queue that this queue is a stream of, or no_queue. An operator adds a stream to its queue for work that runs
  // concurrently with the queue's own operations. In Program::queues, streams come after all other queues. A stream
  // counts as part of its queue.
  std::uint32_t stream_of = no_queue;
  // Only for a stream: a host thread enqueues each operation when the preceding one has ended, not ahead of time.
  bool by_host = false;
};

// concurrent: a queue waits only for flags. serial: a queue also waits for the end of the queue that was launched
// before it, as if all operations were in one queue.
enum class Order : std::uint8_t { concurrent, serial };

// An array of `per_rank` flags in the memory of every rank.
struct FlagArray {
  std::string name;
  std::uint32_t per_rank = 0;
  // Which rank and kernel raises flag `index` of `rank`, for the deadlock report.
  std::function<std::pair<Rank, std::string>(Rank rank, std::uint32_t index)> raised_by;
  // Each flag is raised by one sender over one path, so raises arrive in the order in which they were sent.
  bool in_order = false;
};

// The flags of one FlagArray. Kernel bodies store a FlagBlock, and get the number of each flag from at().
struct FlagBlock {
  FlagRef first = no_flag;
  std::uint32_t per_rank = 0;
  FlagRef at(Rank rank, std::uint32_t index) const { return first + rank * per_rank + index; }
};

struct FlagPlace {
  std::uint32_t array;
  Rank rank;
  std::uint32_t index;
};

class Program {
 public:
  explicit Program(Rank ranks) : ranks_(ranks) {}
  Rank ranks() const { return ranks_; }

  std::deque<Queue> queues;  // a deque, so that references stay valid when a queue is added
  // family() returns the queue itself or, for a stream, the queue that it is a stream of. families() returns the number
  // of queues that are not streams.
  std::uint32_t family(std::uint32_t queue) const {
    return queues[queue].stream_of == no_queue ? queue : queues[queue].stream_of;
  }
  std::uint32_t families() const;
  std::uint32_t number_of(const Queue& queue) const;
  Order order = Order::concurrent;
  std::vector<std::uint32_t> launch;  // queues in the order of the host's launches; empty: as in `queues`

  // Returns the program that has only this queue and its streams.
  Program only(std::uint32_t queue) const;
  // True if two or more queues have an operation that satisfies `kind`.
  bool several_queues_have(const std::function<bool(const Operation&)>& kind) const;

  FlagBlock add_flags(FlagArray array);
  std::uint32_t flag_count() const { return flag_count_; }
  FlagPlace place_of(FlagRef flag) const;
  std::uint32_t arrays() const { return static_cast<std::uint32_t>(arrays_.size()); }
  const FlagArray& array(std::uint32_t number) const { return arrays_[number]; }
  std::string name_of_flag(FlagRef flag) const;  // "ready[2] of rank 3"

 private:
  Rank ranks_;
  std::vector<FlagArray> arrays_;
  std::vector<FlagRef> first_;
  std::uint32_t flag_count_ = 0;
};

}  // namespace moire::program
