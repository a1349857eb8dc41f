// Runs a program on a machine, workgroup by workgroup.
//
// Queues start operations in order (host and launch costs), kernels send grids to the dispatcher of their GPU,
// workgroups walk through the phases their body tells, flags and puts tie ranks together.
#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/hardware/machine/machine.hpp"
#include "sim/core/flags.hpp"
#include "sim/program/observer.hpp"
#include "sim/program/phase_total.hpp"
#include "sim/program/program.hpp"

namespace moire::replay {

using program::Rank;

struct OperationTimes {
  std::string queue;
  std::string name;
  Time begin = Time::max();  // earliest over ranks
  Time end;                  // latest over ranks
  Time spent;                // from begin to end of each rank that was simulated, added up
  std::int64_t ran = 0;      // so many ranks
  // Of a kernel: when its first workgroup was placed, and what its workgroups did, over all ranks.
  Time first_workgroup = Time::max();
  std::int64_t workgroups = 0;              // over all ranks
  std::vector<program::PhaseTotal> phases;  // its shapes, then wait, delay, put, fence
};

// When a rank began an operation and when it had done it: the rank's own, with all launch and waiting.
struct Span {
  Time begin, end;
};

struct Result {
  Time end;
  std::vector<Time> queue_end;  // latest over ranks
  std::vector<Time> rank_end;
  std::vector<OperationTimes> operations;
  std::vector<std::vector<Span>> spans;  // of each operation that is watched, by rank that was simulated
  std::uint64_t workgroups = 0;
  part::Traffic traffic;
  std::string deadlock;  // empty when every operation of every rank ended
};

// Kernels that every rank runs by itself: simulated on each of them, or on one, which stands in for the others.
enum class Likes : std::uint8_t { each, one };
// Others came to a rank that was taken to be by itself: the run has to be simulated again, on each rank.
struct NotByItself : std::exception {};

class Replay final : public core::EventSink {
 public:
  // `watched`: operations, numbered over all queues, whose spans are kept.
  Replay(machine::Machine& machine, const program::Program& program, program::Observer* observer = nullptr,
         const std::vector<bool>& watched = {}, Likes likes = Likes::each);
  ~Replay() override;
  Result run();
  void fire(std::uint64_t payload) override;
  void fires_next(std::uint64_t payload) const override;

 private:
  enum class Event : std::uint8_t {
    start,
    end,
    grid,
    workgroup,
    posted,
    known,
    freed,
    dispatch,
    raise,
    delivered,
    copied
  };
  static std::uint64_t pack(Event event, std::uint64_t id) { return static_cast<std::uint64_t>(event) << 56 | id; }
  static constexpr unsigned copy_number_shift = 40;  // id of a copy: its number in the operation and its queue

  // One kernel on one rank.
  struct KernelRun {
    const program::Kernel* kernel = nullptr;
    Rank rank = 0;
    std::uint32_t queue = 0;
    std::uint32_t operation = 0;  // in result_.operations
    part::ShapeId first_shape = 0;
    part::Footprint footprint;
    std::int64_t workgroups = 0;
    std::uint32_t strands = 1;  // of each
    std::int64_t items = 0;     // of its queue
    std::int64_t next_item = 0;
    Time reached;  // the dispatcher
    std::int64_t started = 0;
    std::int64_t finished = 0;
    std::int64_t refilling = 0;             // places that are not free yet
    program::PhaseTotal* totals = nullptr;  // what its workgroups do is counted there
  };
  // One strand of a resident workgroup; most have only one.
  static constexpr std::int64_t no_item = -1;
  struct Workgroup {
    std::uint32_t run = 0;
    std::uint32_t step = 0;
    std::int64_t item = no_item;  // of the kernel's queue that it does
    std::uint32_t item_step = 0;
    part::CuId cu = 0;
    std::int64_t number = 0;
    // What it does now, for observers and the deadlock report.
    program::Phase::Kind doing = program::Phase::Kind::nothing;
    bool stands_for_work = false;
    std::uint16_t shape = 0;
    program::Rank peer = 0;  // of work
    double peer_bytes = 0;
    Time since;
    program::FlagRef flag = program::no_flag;
    std::uint32_t posted = 0;  // work it has posted and that is not done
    std::int64_t target = 0;
    Time fence;                            // to wait after the last of what it posted
    std::uint32_t posted_by = UINT32_MAX;  // of posted work, which has a seat like a workgroup
    std::uint32_t strand = 0;
    std::uint32_t home = 0;     // seat of strand 0, kept until the last strand ends
    std::uint32_t strands = 1;  // at home: strands that have not ended
  };
  struct QueueState {
    std::uint32_t next = 0;  // operation that runs or starts next
    bool started = false;    // it has begun
    std::uint32_t run = 0;   // its kernel run
    Time enqueued;           // by the host
    Time ready;  // of a copy: when its engine may read the command; before its turn if it lies behind a copy
    Time begin;
    Time end;                  // of the last one that ended
    std::uint32_t copies = 0;  // of its operation that have not ended
    // Since when the engine and the CUs look for the end of what the other has to do first: the engine since the queue
    // began, the CUs since their last operation of it ended.
    Time engine_waits, cus_wait;
  };
  struct Gpu {
    std::unique_ptr<part::Dispatcher> dispatcher;
    Time next_turn;
    bool turn_scheduled = false;
    std::vector<Time> next_refill{};        // by CU
    std::vector<std::uint32_t> resident{};  // workgroups by CU, where their power is counted
  };
  // A flag on its way to another rank.
  struct Flight {
    Rank source = 0;
    Rank destination = 0;
    program::FlagRef flag = program::no_flag;
    part::CuId cu = 0;
    Bytes bytes;
    Time begin;
    Rank relay = program::no_rank;  // of the source's node, whose NIC sends it
    bool copied = false;            // by a DMA engine
  };
  // One that a host thread asks for on behalf of workgroups; its events are no part of the engine's command.
  struct HostCopy {
    std::uint64_t arrival = 0;  // the event that ends it
    Time ready;
    std::uint32_t queue = 0;  // of the workgroup
    std::uint32_t flight() const { return static_cast<std::uint32_t>(arrival); }
  };
  // An operation that one rank does for others (stand_in.cpp). Times are counted from when the kernel reached the
  // rank's dispatcher.
  struct StandIn {
    std::uint32_t run = UINT32_MAX;  // of that rank
    bool over = false;
    Time took;
    Time next_turn;  // of the dispatcher, as it was left
    std::vector<Time> next_refill;
    std::vector<program::PhaseTotal> phases;
    std::uint64_t steps = 0;
    std::vector<std::uint32_t> waiting;  // runs of others that began before it was over
    std::vector<Rank> others;
  };
  class LoadWatcher;

  // Number of an operation over all queues.
  std::uint32_t operation_index(std::uint32_t queue, std::uint32_t next) const {
    return first_operation_[queue] + next;
  }
  // GPUs stand once for each queue (with its streams) that has the places on them to itself.
  std::uint32_t gpu_with_slots(Rank rank, std::uint32_t queue) const {
    return (own_slots_ ? program_.family(queue) * machine_.ranks() : 0) + rank;
  }
  QueueState& queue_state(Rank rank, std::uint32_t queue) { return queues_[rank * program_.queues.size() + queue]; }

  // queues.cpp
  void set_launch_order();
  void enqueue_all();
  void schedule_next(Rank rank, std::uint32_t queue);
  void enqueue_now(Rank rank, std::uint32_t queue);
  void start_operation(Rank rank, std::uint32_t queue);
  // When an operation behind another one has its turn, and when its command may be read if it is a copy.
  struct Behind {
    Time turn, ready;
  };
  Behind behind(const program::Operation& before, Rank rank, std::uint32_t queue, const QueueState& state) const;
  const program::Operation* operation_before(Rank rank, std::uint32_t queue, std::uint32_t next) const;
  std::vector<Time> enqueued_by(Rank rank) const;
  Time enqueued(Rank rank, std::uint32_t queue, std::uint32_t next) const {
    return enqueued_[enqueued_.size() == 1 ? 0 : rank][operation_index(queue, next)];
  }
  enum class Runner { none, cus, engine };  // what does an operation
  Runner runner(Rank rank, const program::Operation& operation) const;
  bool copied_by_kernel(Rank rank, const program::Operation& copy) const;
  void start_kernel(Rank rank, std::uint32_t queue, const program::Kernel& kernel);
  void start_grid(std::uint32_t run);
  void start_copy(Rank rank, std::uint32_t queue, const program::Copy& copy);
  void submit(Rank rank, std::uint32_t queue, const program::Transfer& transfer, std::uint32_t number, Time ready);
  void end_copy(Rank rank, std::uint32_t queue, std::uint32_t number);
  // Copies to GPUs of other nodes.
  bool leaves_node(Rank rank, const program::Transfer& transfer) const;
  void post(Rank rank, std::uint32_t queue, const program::Transfer& transfer, std::uint32_t number);
  void end_post(Rank rank, std::uint32_t queue, const program::Transfer& transfer,
                const std::function<program::Transfer(Rank)>& transfer_of);
  void end_operation(Rank rank, std::uint32_t queue);

  // workgroups.cpp
  void dispatch(std::uint32_t gpu);
  void request_turn(std::uint32_t gpu);
  void go_on(std::uint32_t workgroup);
  void go_ahead(std::uint32_t workgroup, Time at);
  void begin_phase(Workgroup& workgroup, program::Phase::Kind kind, Time at);
  void delay(std::uint32_t workgroup, const program::Phase& phase, Time begin);
  bool next_phase(Workgroup& workgroup, program::Phase& phase);
  // The flag that a put raises: of a rank that is not simulated, that of the simulated one which stands for it, as the
  // sender says that is as far from there as this one from the other.
  program::FlagRef simulated_flag(const Workgroup& workgroup, const program::Phase& phase) const;
  void take_item(Workgroup& workgroup);
  std::uint32_t take_seat();
  void post(std::uint32_t workgroup, const program::Phase& phase);
  void posted_done(std::uint32_t seat);   // has arrived
  void posted_known(std::uint32_t seat);  // and its workgroup knows
  bool gate_opens(const program::Phase& phase);
  // Returns when the issuing workgroup is free again.
  Time send(std::uint32_t workgroup, const program::Phase& phase);
  void retire(std::uint32_t workgroup);
  bool last_strand(std::uint32_t workgroup);
  void free_slot(std::uint32_t run, part::CuId cu);
  void count_resident(std::uint32_t gpu, part::CuId cu, bool comes);
  void end_phase(std::uint32_t workgroup, Time at);
  void arrive(std::uint32_t flight);
  void start_host_copy(Rank rank);
  void end_host_copy(const Flight& flight);
  std::uint32_t new_flight(const Flight& flight);

  // stand_in.cpp
  bool find_stand_ins() const;
  bool begins_by_itself(std::uint32_t run);  // true: another rank stands in for it
  void end_like(std::uint32_t run);
  void ends_by_itself(std::uint32_t run);
  void count_others();
  void visit(Rank rank);
  void visit(const KernelRun& run, std::uint16_t shape, Rank peer, bool comes);

  // deadlock.cpp
  std::string deadlock_report() const;
  void count_images();            // what all ranks did, of what those that are simulated did
  std::string under_way() const;  // what the run was at when time ended
  std::string party(Rank rank, std::uint32_t queue, const std::string& operation) const;

  machine::Machine& machine_;
  const program::Program& program_;
  program::Observer* observer_;
  std::unique_ptr<LoadWatcher> load_watcher_;
  core::Flags flags_;
  part::Phases& phases_;
  part::Dispatchers& dispatchers_;
  part::Copies& copies_;
  part::Puts& puts_;
  part::Meters* meters_;                        // null: nobody counts energy
  bool own_slots_;                              // queues have places on CUs
  bool own_host_;                               // and hosts of their own
  std::vector<std::uint32_t> first_operation_;  // per queue
  std::vector<std::vector<Time>>
      enqueued_;  // per rank, one where all are alike, and operation: when the host has done so
  std::vector<std::vector<part::ShapeId>> first_shapes_;  // per queue and operation
  struct QueueOrder {
    std::uint32_t mask = 0;                                 // of the dispatchers
    std::uint32_t stream = 0;                               // the queue in which the hardware sees its operations
    std::uint32_t position = 0;                             // in the launch order
    std::uint32_t before = UINT32_MAX, after = UINT32_MAX;  // serial: the queues around it
  };
  std::vector<QueueOrder> orders_;
  std::vector<QueueState> queues_;
  std::vector<std::unique_ptr<Gpu>> gpus_;
  std::vector<KernelRun> runs_;
  std::vector<Workgroup> workgroups_;
  std::vector<std::uint32_t> free_workgroups_;
  std::vector<Flight> flights_;
  std::vector<std::deque<HostCopy>> host_copies_;  // of each rank
  std::vector<std::uint32_t> free_flights_;
  std::vector<Time> host_threads_;       // until when that of each rank enqueues, where queues have their own each
  std::vector<part::Placement> placed_;  // scratch
  std::vector<StandIn> stand_ins_;       // by operation; none: every rank is simulated
  std::vector<bool> by_itself_;          // by rank: is in such a kernel
  std::vector<std::uint32_t> visits_;    // by rank: what others do on its capacities; none: nobody can
  std::uint64_t steps_ = 0;              // of workgroups
  core::Pulse* pulse_;                   // to tell them to
  Result result_;
};

}  // namespace moire::replay
