// What is replayed: per rank, queues of operations; operations are kernels of workgroups, copies and waits.
//
// A program is rank-symmetric: one description serves all ranks, and bodies answer for a given rank. Nothing here
// knows an operator or a piece of hardware; generators (models/workload/kernel, models/workload/collective) and trace
// readers make programs, models/hardware/replay runs them.
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
using FlagRef = std::uint32_t;  // one flag of one rank
inline constexpr FlagRef no_flag = UINT32_MAX;
inline constexpr Rank no_rank = UINT32_MAX;

enum class Arithmetic : std::uint8_t { vector_fp32, matrix_16bit };

// Demands of a workgroup while it advances by one unit of work. A phase that overlaps loads, stores and arithmetic
// (software pipelining) has several of them and takes the time of the slowest. Amounts are bytes or FLOP per unit.
struct PhaseShape {
  std::string name;
  double read = 0;             // loaded from the rank's own memory
  double read_miss = 1;        // share of `read` that misses the caches
  double read_overfetch = 1;   // bytes fetched from HBM per missed byte (rows shorter than the access granularity)
  double write = 0;            // stored to the rank's own memory
  double peer_write = 0;       // stored to the peer's memory through the scale-up port
  double write_miss = 1;       // share of what is stored that leaves the caches before the kernel ends
  double peer_write_cost = 1;  // what peer_write takes on its way over what contiguous stores would
  double issue_cost = 1;       // what its loads and stores take to issue over what a plain loop of them would
  double peer_read = 0;        // loaded from the peer's memory through it; nothing else is loaded then
  // peer_write goes to all GPUs of the node, the own one too, and peer_read is the sum of what all of them have: the
  // switch between them copies and adds. The phase's peer is the rank itself.
  bool by_switch = false;
  // All workgroups walk through memory together, so that reads and writes come in long runs.
  bool in_order = false;
  // Share of stores in the memory traffic that these bytes mix with; below 0: of this shape's own bytes.
  double mixed_stores = -1;
  double flop = 0;
  // Power of its arithmetic over that of dense matrix arithmetic on data of random digits (what lowers the clock).
  double power = 0;
  Arithmetic unit = Arithmetic::vector_fp32;
  // false: the workgroup requests a batch, waits for all of it, then requests the next; true: loads flow all the time.
  bool pipelined = true;
  Time held{};               // of what is pipelined: how long loaded bytes keep their place before others are asked for
  bool random_rows = false;  // what is not pipelined: rows anywhere in memory, not a run of addresses
  // Of what is not pipelined, per unit of work: loads that must come back before the rows can be asked for (row
  // numbers), one after the other, and time in which nothing is requested (barriers, instruction fetch).
  double dependent_loads = 0;
  Time pause{};
  std::int64_t threads = 256;       // of the workgroup
  std::int64_t active_threads = 0;  // of them, those that do it; 0: all
  Bytes in_flight;  // loads the workgroup keeps requested and not yet received (stores, if it loads nothing)
};

// One step in the life of a workgroup.
struct Phase {
  enum class Kind : std::uint8_t {
    nothing,  // go on to the next step at once
    work,     // `amount` units of kernel.shapes[shape], stores going to `peer`
    delay,    // `duration`; counted as phase `shape` if `stands_for_work`
    fence,    // until the workgroup's posted work is done, and `duration` more
    wait,     // until `flag` >= target
    signal,   // raise `flag` at `peer` after the stores before it and `duration`; the workgroup does not wait for that
    put,      // non-blocking NIC message of `bytes` to `peer` that raises `flag` there when it is complete
    take,     // items of the kernel's queue, one after the other, until it is empty; then the next step
  };
  Kind kind = Kind::nothing;
  bool posted = false;           // work: goes on beside the workgroup's next steps (stores that nobody waits for)
  bool stands_for_work = false;  // delay: a work phase replayed with its recorded time
  bool proxied = false;          // put: by a host thread; where stores reach, a DMA copy begun `duration` after
  std::uint16_t shape = 0;       // work
  Rank peer = 0;
  double amount = 0;
  Bytes bytes;
  // put: a GPU of the sender's node, in whose memory lies what is sent, or of the receiver's node; its NIC is used in
  // place of the NIC of the sender or the receiver.
  Rank relay = no_rank;
  Time duration;
  FlagRef flag = no_flag;
  std::int64_t target = 0;
  std::uint32_t queue_pair = 0;
  // signal, put: first raise this counter of the own rank; only the workgroup that lifts it to `gate_target` goes on
  // to send (slice bitmask of the fused kernels).
  FlagRef gate = no_flag;
  std::int64_t gate_target = 0;
  // Steps from the one that was asked for on that are nothing, which the answer leaves out.
  std::uint32_t skipped = 0;
};

// Ranks that an operation runs on; null: all. The others go on to the next operation at once.
using RankSet = std::shared_ptr<const std::vector<bool>>;

struct WorkgroupResources {
  std::int64_t threads = 256;
  std::int64_t registers_per_thread = 32;
  Bytes lds;
  std::int64_t cluster = 1;  // workgroups placed together inside one group of CUs
};

// Answers what each workgroup does. Stateless: the same question has the same answer.
class KernelBody {
 public:
  virtual ~KernelBody() = default;
  virtual std::int64_t workgroups(Rank rank) const = 0;
  // Fills `phase` (reset to its default) with step `step` of a workgroup, or the next one that is something; false when
  // the workgroup is over.
  virtual bool phase(Rank rank, std::int64_t workgroup, std::uint32_t step, Phase& phase) const = 0;
  // Groups of wavefronts that walk their own steps side by side, all on the workgroup's CU; the workgroup is over when
  // all of them are. Each of them keeps the bytes in flight that its shapes say.
  virtual std::uint32_t strands(Rank /*rank*/) const { return 1; }
  // Asked instead of `phase` where there is more than one strand.
  virtual bool strand_phase(Rank rank, std::int64_t workgroup, std::uint32_t /*strand*/, std::uint32_t step,
                            Phase& phase) const {
    return this->phase(rank, workgroup, step, phase);
  }
  // Work that belongs to nobody: whoever comes to `take` does the next item (persistent kernels with a tile counter).
  virtual std::int64_t items(Rank /*rank*/) const { return 0; }
  virtual bool item_phase(Rank /*rank*/, std::int64_t /*item*/, std::uint32_t /*step*/, Phase& /*phase*/) const {
    return false;
  }
  // Does every rank do what the rank `by` before it does (the first ones what the last ones do), with all ranks that it
  // names `by` on? false: it may (turn.hpp looks at every step of short ones). Flags of its arrays may have any number
  // at the rank that they are at.
  virtual bool turns(Rank /*by*/) const { return false; }
  // Does every rank do the same, by itself: without flags, puts and memory of other ranks? false: it may.
  virtual bool by_itself() const { return false; }
};

struct Kernel {
  std::string name;
  WorkgroupResources resources;
  std::vector<PhaseShape> shapes;
  std::shared_ptr<const KernelBody> body;
  RankSet ranks{};
};

// One copy: by a DMA engine to a peer that stores reach (or within the rank), else by the NICs, which a host thread
// tells.
struct Transfer {
  Rank peer = 0;
  Bytes bytes;
  FlagRef flag = no_flag;  // raised at the peer when the copy is complete
};
struct Copy {
  std::string name;
  std::function<Transfer(Rank)> transfer;
  // Begin with it, as on queues that fork from this one and join it again: engines that are free take one each, a busy
  // one goes from one to the next as within a queue. Those without bytes are left out.
  std::vector<std::function<Transfer(Rank)>> beside{};
  RankSet ranks{};
};

// The queue goes on when `flag` of the own rank has reached the target.
struct Wait {
  std::string name;
  std::function<FlagRef(Rank)> flag;
  std::int64_t target = 1;
  RankSet ranks{};
};

// Raises a flag of the own rank when the queue comes to it: an event that other queues of the rank wait for.
struct Signal {
  std::string name;
  std::function<FlagRef(Rank)> flag;
  RankSet ranks{};
};

struct Delay {
  std::string name;
  Time duration;
  RankSet ranks{};
};

using Operation = std::variant<Kernel, Copy, Wait, Signal, Delay>;
const std::string& name_of(const Operation& operation);
bool runs_on(const Operation& operation, Rank rank);

inline constexpr std::uint32_t no_queue = UINT32_MAX;
struct Queue {
  std::string name;
  int priority = 0;  // higher first among pending workgroups
  std::vector<Operation> operations;
  std::vector<std::uint32_t> cus{};  // that its kernels may be placed on; empty: all
  // The queue of which it is a stream: an operator there has added it for what runs beside its own operations. Streams
  // stand behind all queues, and whoever counts queues counts them as part of theirs.
  std::uint32_t stream_of = no_queue;
  // Of a stream: a host thread comes to an operation when the one before has ended, and enqueues it then and not ahead.
  bool by_host = false;
};

// concurrent: a queue waits for flags only. serial: it waits for the end of the queue launched before it, as if all
// operations stood in one queue.
enum class Order : std::uint8_t { concurrent, serial };

// `per_rank` flags in the memory of every rank.
struct FlagArray {
  std::string name;
  std::uint32_t per_rank = 0;
  // Who raises flag `index` of `rank`, for the deadlock report: rank and kernel name.
  std::function<std::pair<Rank, std::string>(Rank rank, std::uint32_t index)> raised_by;
};

// The flags of one array: what bodies keep to name them.
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

  std::deque<Queue> queues;  // those that are there stay where they are when one is added
  // The queue itself, or the one of which it is a stream; and how many there are.
  std::uint32_t family(std::uint32_t queue) const {
    return queues[queue].stream_of == no_queue ? queue : queues[queue].stream_of;
  }
  std::uint32_t families() const;
  std::uint32_t number_of(const Queue& queue) const;
  Order order = Order::concurrent;
  std::vector<std::uint32_t> launch;  // queues in the order in which the host enqueues them; empty: as they stand

  // The program of one of its queues, with its streams, alone.
  Program only(std::uint32_t queue) const;
  // Do two queues or more have an operation of some kind?
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
