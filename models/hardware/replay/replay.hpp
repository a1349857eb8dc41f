// Runs a program on a machine at workgroup granularity.
//
// Queues start operations in order, with the costs of host and launches. Kernels submit grids to the dispatcher of
// their GPU, and workgroups execute the phases of their kernel's body. Ranks wait for each other by flags, which stores
// and puts raise.
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
#include "models/hardware/replay/fences.hpp"
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
  Time spent;                // duration on a rank, summed over the simulated ranks
  std::int64_t ran = 0;      // number of simulated ranks that ran it
  // Kernels only:
  Time first_workgroup = Time::max();       // when the first workgroup was placed
  std::int64_t workgroups = 0;              // over all ranks
  std::vector<program::PhaseTotal> phases;  // totals over all ranks: the kernel's shapes, then wait, delay, put, fence
};

// When a rank began and ended an operation, including launch costs and waiting.
struct Span {
  Time begin, end;
};

struct Result {
  Time end;
  std::vector<Time> queue_end;  // latest over ranks
  std::vector<Time> rank_end;
  std::vector<OperationTimes> operations;
  std::vector<std::vector<Span>> spans;  // per watched operation, by simulated rank
  std::uint64_t workgroups = 0;
  part::Traffic traffic;
  std::string deadlock;  // the deadlock report; empty if every operation of every rank ended
};

// How to simulate kernels that every rank executes without using other ranks (KernelBody::by_itself). each: on every
// rank. one: on the first rank that reaches the kernel, and the other ranks get its times (stand_in.cpp).
enum class Likes : std::uint8_t { each, one };
// Thrown with Likes::one if the times of one rank may not hold for the others: other work uses the GPU of a rank during
// such a kernel, or slots of the kernel are not free again when it ends. The caller must repeat the run with
// Likes::each.
struct NotByItself : std::exception {};

class Replay final : public core::EventSink, private core::FlagWaiter, private core::Receiver {
 public:
  // `watched`: operations, numbered over all queues, whose spans are recorded.
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
    fenced,
    freed,
    dispatch,
    raise,  // a signal or put arrives and raises its flag
    delivered,
    copied,
    seen  // a host thread sees the end of a copy
  };
  static std::uint64_t pack(Event event, std::uint64_t id) { return static_cast<std::uint64_t>(event) << 56 | id; }
  // In the id of Event::copied and Event::seen, the bits below this one hold rank and queue. The bits from this one on
  // hold the number of the copy in its operation.
  static constexpr unsigned copy_number_shift = 40;

  // A thread of a host, which serves the streams `by_host`.
  struct HostThread {
    Time free;                    // when its last call ends
    std::uint32_t under_way = 0;  // operations for whose end it polls
    std::uint32_t ended = 0;      // those of them that have ended, which it has not found yet
    Time polled;                  // when it last saw the end of an operation
  };

  // One kernel on one rank.
  struct KernelRun {
    const program::Kernel* kernel = nullptr;
    Rank rank = 0;
    std::uint32_t queue = 0;
    std::uint32_t operation = 0;  // index in result_.operations
    part::ShapeId first_shape = 0;
    part::Footprint footprint;
    std::int64_t workgroups = 0;
    std::uint32_t strands = 1;  // per workgroup
    std::int64_t items = 0;     // in the work queue that the kernel's workgroups share
    std::int64_t next_item = 0;
    Time reached;  // when the kernel reached the dispatcher
    std::int64_t started = 0;
    std::int64_t finished = 0;
    std::int64_t at_work = 0;       // resident workgroups that have worked
    std::int64_t most_at_work = 0;  // until now
    Time straggles{};               // of the workgroups that have worked, once none of them is left
    bool has_straggled = false;     // its last workgroup has ended an average one's work
    bool stores_to_peers = false;   // a workgroup has stored bytes or a flag to another GPU of its node
    std::optional<Time> fenced{};   // before which no fence of the kernel ends; absent: it has begun none
    std::int64_t refilling = 0;     // slots whose workgroup has ended and that are not free again yet
    // One entry per panel, which is a set of workgroups that load the same bytes (program::Phase::panel). `began`: when
    // the latest of these workgroups began its work; max(): none has begun. `waited`: how long that workgroup had
    // waited for flags by then.
    struct Panel {
      Time began = Time::max(), waited;
    };
    std::vector<Panel> panels{};
    program::PhaseTotal* totals = nullptr;  // where the time of its workgroups' phases is counted
  };
  // State of one strand of a resident workgroup; most workgroups have only one strand.
  static constexpr std::int64_t no_item = -1;
  struct alignas(64) Workgroup {  // a cache line; what few steps use is in a WorkgroupRest
    std::uint32_t run = 0;
    std::uint32_t step = 0;
    std::int64_t number = 0;
    part::CuId cu = 0;
    std::uint32_t strand = 0;
    // Its current activity, for observers and the deadlock report.
    program::Phase::Kind doing = program::Phase::Kind::nothing;
    bool stands_for_work = false;
    bool has_worked = false;  // has started a work phase; of strand 0 only
    std::uint16_t shape = 0;
    program::Rank peer = 0;  // of a work phase
    Time since;
    Time waited{};     // time for which it has waited for flags so far
    double alone = 0;  // part of its work phase's amount whose panel bytes it loads itself, since caches evicted them
    program::FlagRef flag = program::no_flag;
    std::uint32_t posted = 0;  // number of its posted phases that are not done
  };
  struct WorkgroupRest {
    double peer_bytes = 0;        // of a work phase, for observers
    std::optional<Time> fence{};  // duration of its fence, if it executes one or waits for one
    Time others_known;            // when the stores of other CUs that it waits for are known to have arrived
    bool shares_fence = false;    // the CU executes its fence now
    Time raising;                 // when its thread that raises flags in turn is ready for the next flag
    std::int64_t item = no_item;  // the queue item that it executes
    std::uint32_t item_step = 0;
    std::uint32_t posted_by = UINT32_MAX;  // posted phases have a seat of their own: the seat that posted this one
    std::uint32_t home = 0;                // seat of strand 0, which stays occupied until the last strand ends
    std::uint32_t strands = 1;             // in the home seat: number of strands that have not ended
  };
  enum class Runner { none, cus, engine };  // what executes an operation
  struct QueueState {
    std::uint32_t next = 0;  // index of the operation that is running or starts next
    bool started = false;    // operation `next` has begun
    std::uint32_t run = 0;   // index in runs_, if operation `next` is a kernel
    Time enqueued;           // when the host has enqueued operation `next`
    Time ready;              // of a copy: when an engine may read its command, for example during an earlier copy
    Time begin;
    Time end;                  // of the operation that ended last
    std::uint32_t copies = 0;  // parts of the copy operation that have not ended
    bool searched = false;     // the host thread has begun the query that finds the end of operation `next`
    Time engine_waits;         // when the queue's first operation began, or host.event_pair before its first workgroup
    Runner last = Runner::none;  // of the queue's last kernel or copy that has ended
  };
  struct Gpu {
    std::unique_ptr<part::Dispatcher> dispatcher;
    Time next_turn{};
    bool turn_scheduled = false;
    std::vector<Time> next_refill{};        // by CU
    std::vector<std::uint32_t> resident{};  // workgroups by CU, if energy is counted
    std::vector<Fences> fences{};           // by CU; empty until a workgroup executes a fence
    PeerStores peer_stores;
  };
  // A flag on its way to a rank.
  struct Flight {
    Rank source = 0;
    Rank destination = 0;
    program::FlagRef flag = program::no_flag;
    part::CuId cu = 0;
    Bytes bytes;
    Time begin;
    Rank relay = program::no_rank;  // GPU of the source's node whose NIC sends it
    bool copied = false;            // by a DMA engine
    bool summed = false;            // by switches
  };
  // A copy that a host thread requests on behalf of workgroups. The command time of a copy was measured between two
  // events, whose time it includes. This copy has no events, so `ready` is host.event_pair before the time at which the
  // host thread enqueues the copy.
  struct HostCopy {
    std::uint64_t arrival = 0;  // the event that is fired when the copy ends
    Time ready;
    std::uint32_t queue = 0;  // of the requesting workgroup
    std::uint32_t flight() const { return static_cast<std::uint32_t>(arrival); }
  };
  // A kernel that one rank executes on behalf of others (stand_in.cpp). Times are relative to the moment at which the
  // kernel reached the dispatcher.
  struct StandIn {
    std::uint32_t run = UINT32_MAX;  // of the rank that is simulated
    bool over = false;
    Time took;
    Time next_turn;  // Gpu::next_turn when the kernel ended
    std::vector<Time> next_refill;
    std::vector<program::PhaseTotal> phases;
    std::uint64_t steps = 0;
    std::vector<std::uint32_t> waiting;  // runs of other ranks that began before the simulated run ended
    std::vector<Rank> others;
  };
  class LoadWatcher;

  // Index of an operation, counted over all queues.
  std::uint32_t operation_index(std::uint32_t queue, std::uint32_t next) const {
    return first_operation_[queue] + next;
  }
  // Index in gpus_. A counterfactual run can give each queue (with its streams) its own copy of every GPU's slots.
  std::uint32_t gpu_with_slots(Rank rank, std::uint32_t queue) const {
    return (own_slots_ ? program_.family(queue) * machine_.ranks() : 0) + rank;
  }
  QueueState& queue_state(Rank rank, std::uint32_t queue) { return queues_[rank * program_.queues.size() + queue]; }

  // queues.cpp
  void set_launch_order();
  void enqueue_all();
  void schedule_next(Rank rank, std::uint32_t queue);
  static bool comes_with_last(const program::Operation& operation);
  void enqueue_now(Rank rank, std::uint32_t queue);
  Time turn_of(const HostThread& thread) const;
  Time time_with_last(const program::Operation& operation) const;
  void start_operation(Rank rank, std::uint32_t queue);
  // Times of an operation that follows another operation of its queue. turn: when it may start. ready: when an engine
  // may read its command, if it is a copy.
  struct Behind {
    Time turn, ready;
  };
  Time unseen(Rank rank, Time interval);
  Time later_released(Rank rank, Time interval) const;
  Behind behind(const program::Operation& before, Rank rank, std::uint32_t queue, const QueueState& state);
  const program::Operation* operation_before(Rank rank, std::uint32_t queue, std::uint32_t next) const;
  std::vector<Time> enqueued_by(Rank rank) const;
  Time enqueued(Rank rank, std::uint32_t queue, std::uint32_t next) const {
    return enqueued_[enqueued_.size() == 1 ? 0 : rank][operation_index(queue, next)];
  }
  Runner runner(Rank rank, const program::Operation& operation) const;
  bool by_dma(Rank rank, const program::Operation& operation) const;
  bool polled_for(std::uint32_t queue, const program::Operation& operation) const;
  bool flag_by_command(Rank rank, std::uint32_t queue, const program::Operation& operation) const;
  bool copied_by_kernel(Rank rank, const program::Operation& copy) const;
  void start_kernel(Rank rank, std::uint32_t queue, const program::Kernel& kernel);
  void start_grid(std::uint32_t run);
  void start_copy(Rank rank, std::uint32_t queue, const program::Copy& copy);
  void submit(Rank rank, std::uint32_t queue, const program::Transfer& transfer, std::uint32_t number, Time ready);
  void end_copy(Rank rank, std::uint32_t queue, std::uint32_t number);
  static Time first_poll(Time since, Time interval, Time end);
  void see_copy(Rank rank, std::uint32_t queue, std::uint32_t number);
  Time find(Rank rank, std::uint32_t queue, Time seen);
  HostThread& host_thread(Rank rank, std::uint32_t queue);
  // True if stores of `rank` do not reach the destination of the copy. post() sends such a copy as a put of the host
  // thread that serves the NIC, and end_post() ends it.
  part::CopyUse use_of(Rank rank, std::uint32_t queue, const program::Transfer& transfer) const;
  bool leaves_node(Rank rank, const program::Transfer& transfer) const;
  bool follows_at_once(Rank rank, std::uint32_t queue);
  void post(Rank rank, std::uint32_t queue, const program::Transfer& transfer, std::uint32_t number);
  void end_post(Rank rank, std::uint32_t queue, const program::Transfer& transfer,
                const std::function<program::Transfer(Rank)>& transfer_of);
  void end_operation(Rank rank, std::uint32_t queue);

  void reaches(std::uint64_t payload, Time at) override;
  void arrives(std::uint64_t payload, Time at) override;

  // workgroups.cpp
  void dispatch(std::uint32_t gpu);
  void request_turn(std::uint32_t gpu);
  void go_on(std::uint32_t workgroup);
  void go_ahead(std::uint32_t workgroup, Time at, bool is_waiting = true);
  double lost_share(const Workgroup& wg, const program::Phase& phase);
  void begin_phase(Workgroup& workgroup, program::Phase::Kind kind, Time at);
  void count_stores(Workgroup& workgroup, double amount);
  void begin_delay(Workgroup& workgroup, const program::Phase& phase);
  static void begin_wait(Workgroup& workgroup, const program::Phase& phase);
  Time noticed(std::uint32_t workgroup, Time rises) const;
  bool next_phase(Workgroup& workgroup, program::Phase& phase);
  bool next_step(Workgroup& workgroup, program::Phase& phase);
  // Returns the flag that a put raises. With folding, only one block of ranks is simulated, and a put to another block
  // stands for the put that some block sends to the simulated block. In this case, returns the flag of the put that it
  // stands for. The sender and the receiver of that put are shifted by whole blocks.
  program::FlagRef simulated_flag(const Workgroup& workgroup, const program::Phase& phase) const;
  void take_item(Workgroup& workgroup);
  bool has_item(const Workgroup& workgroup) const {
    return runs_[workgroup.run].items > 0 && rest_of(workgroup).item != no_item;
  }
  std::uint32_t take_seat();
  WorkgroupRest& rest_of(const Workgroup& workgroup) { return rests_[seat_of(workgroup)]; }
  const WorkgroupRest& rest_of(const Workgroup& workgroup) const { return rests_[seat_of(workgroup)]; }
  std::size_t seat_of(const Workgroup& workgroup) const {
    return static_cast<std::size_t>(&workgroup - workgroups_.data());
  }
  void post(std::uint32_t workgroup, const program::Phase& phase);
  void posted_done(std::uint32_t seat);   // the data of the posted phase has arrived
  void posted_known(std::uint32_t seat);  // the workgroup of the posted phase has learned of the arrival
  bool gate_opens(const program::Phase& phase);
  // Sends a signal or put at time `now`. For a signal, this time may be in the future. Returns the time at which the
  // issuing workgroup is free again.
  Time send(std::uint32_t workgroup, const program::Phase& phase, Time now);
  void count_working(std::uint32_t run);
  bool straggles(std::uint32_t workgroup);
  void retire(std::uint32_t workgroup);
  bool last_strand(std::uint32_t workgroup);
  void free_slot(std::uint32_t run, part::CuId cu);
  void count_resident(std::uint32_t gpu, part::CuId cu, bool comes);
  void end_phase(std::uint32_t workgroup, Time at);
  void arrive(std::uint32_t flight);
  void start_host_copy(Rank rank);
  void end_host_copy(const Flight& flight);
  std::uint32_t new_flight(const Flight& flight);

  // fences.cpp
  Time fenced_from(KernelRun& run, Time now);
  void begin_fence(std::uint32_t workgroup, Time duration);
  void share_fence(std::uint32_t gpu, part::CuId cu);
  void end_posted_work(std::uint32_t workgroup);
  void go_on_with_fence(std::uint32_t gpu, part::CuId cu);
  void end_fence(std::uint32_t gpu, part::CuId cu);
  PeerStores* peer_stores(const Workgroup& wg);

  // stand_in.cpp
  bool find_stand_ins() const;
  bool begins_by_itself(std::uint32_t run);  // true: another rank stands in for this run
  void end_like(std::uint32_t run);
  void ends_by_itself(std::uint32_t run);
  void count_others();
  void visit(Rank rank);
  void visit(const KernelRun& run, std::uint16_t shape, Rank peer, bool comes);

  // deadlock.cpp
  std::string deadlock_report() const;
  void count_images();            // extends the results of the simulated ranks to all ranks
  std::string under_way() const;  // for an error message: the time, and the operation that a queue has reached
  std::string party(Rank rank, std::uint32_t queue, const std::string& operation) const;

  machine::Machine& machine_;
  const program::Program& program_;
  program::Observer* observer_;
  std::unique_ptr<LoadWatcher> load_watcher_;
  core::Flags flags_;
  part::Phases& phases_;
  part::Dispatchers& dispatchers_;
  part::Copies& copies_;
  part::Decompressors& decompressors_;
  part::Puts& puts_;
  part::Meters* meters_;                        // null: no energy is counted
  bool own_slots_;                              // queues have their own CU slots
  bool own_host_;                               // queues have their own hosts
  std::vector<std::uint32_t> first_operation_;  // per queue
  std::vector<std::vector<Time>>
      enqueued_;  // by rank (one entry if all are alike) and operation: when the host has enqueued it
  std::vector<std::vector<part::ShapeId>> first_shapes_;  // per queue and operation
  struct QueueOrder {
    std::uint32_t mask = 0;                                 // mask of the dispatchers
    std::uint32_t stream = 0;                               // the hardware queue that executes its operations
    std::uint32_t position = 0;                             // in the launch order
    std::uint32_t before = UINT32_MAX, after = UINT32_MAX;  // serial order: the preceding and following queue
  };
  std::vector<QueueOrder> orders_;
  std::vector<QueueState> queues_;
  std::vector<std::unique_ptr<Gpu>> gpus_;
  std::vector<KernelRun> runs_;
  std::vector<Workgroup> workgroups_;  // by seat
  std::vector<WorkgroupRest> rests_;   // by seat
  std::vector<std::uint32_t> free_workgroups_;
  std::vector<Flight> flights_;
  std::vector<std::deque<HostCopy>> host_copies_;  // by rank
  std::vector<std::uint32_t> free_flights_;
  std::vector<std::uint32_t> looks_;      // by rank: for the end of an operation of another engine
  std::vector<HostThread> host_threads_;  // by rank (or by queue and rank)
  std::vector<part::Placement> placed_;   // scratch
  std::vector<std::uint32_t> fenced_;     // scratch
  std::vector<StandIn> stand_ins_;        // by operation; empty: every rank is simulated
  std::vector<bool> by_itself_;           // by rank: executes a kernel that has a stand-in
  std::vector<std::uint32_t> visits_;  // by rank: number of activities besides its kernels that use its GPU, or empty
  std::uint64_t steps_ = 0;            // of all workgroups
  core::Pulse* pulse_;                 // shows progress: gets the number of steps; null: nobody watches
  Result result_;
};

}  // namespace moire::replay
