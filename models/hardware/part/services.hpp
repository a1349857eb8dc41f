// What parts offer to the replay and to each other. A part implements those that are its own.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "models/hardware/part/part.hpp"
#include "sim/core/network.hpp"

namespace moire::part {

using CuId = std::uint32_t;

// --- How a phase or a copy uses a part --------------------------------------------------------------------------

// A phase of workgroups of one kernel on `rank`, towards `peer`.
struct PhaseUse {
  const program::PhaseShape& shape;
  Rank rank = 0;
  Rank peer = 0;
  std::uint32_t queue = 0;
  double cu_share = 1;  // of what a CU can have under way, the share of one of these workgroups
};

// What one load of a phase takes, seconds.
struct Latency {
  double hit = 0;
  double miss = 0;
  double missed = 1;                        // share of the loads
  core::CapacityId capacity = core::no_id;  // whose load stretches the latency
  double stretched = 0;                     // the part of it that load stretches; 0: all of it
  // Loads that are waited for together wait for the slowest: this longer for each factor e in their number; 0: all
  // take the same time.
  double spread = 0;
  double line = 0;  // bytes that come together

  double mean() const { return missed * miss + (1 - missed) * hit; }
};

// A copy without workgroups.
struct CopyUse {
  Rank rank = 0;
  Rank peer = 0;  // the rank itself: within the GPU
  Bytes bytes;
  std::uint32_t queue = 0;
  bool by_cus = false;  // a kernel of the driver does it
};

// Adds to a class what an activity takes of the part: demands, and bounds where the part has limits of its own.
class Shared {
 public:
  virtual ~Shared() = default;
  virtual void latency(const PhaseUse& /*use*/, Latency& /*latency*/) const {}
  virtual void use(const PhaseUse& /*use*/, core::ClassSpec& /*spec*/) const {}
  virtual void use(const CopyUse& /*use*/, core::ClassSpec& /*spec*/) const {}
  // Adds what its work puts on meters, which changes no time. Asked of every phase, also of one that moves nothing.
  virtual void meter(const PhaseUse& /*use*/, core::ClassSpec& /*spec*/) const {}
  // Copies of equal kind share a class: a copy of `bytes` within a GPU that stays in a cache is of another kind.
  virtual bool stays_in_cache(const CopyUse& /*use*/) const { return false; }
};

// --- Workgroups in phases ----------------------------------------------------------------------------------------

using ShapeId = std::uint32_t;
// The place of one resident workgroup; numbers are the caller's, small and reused.
using Seat = std::uint32_t;

class Phases {
 public:
  virtual ~Phases() = default;
  // `queue` of the program whose phases have it.
  virtual ShapeId add_shape(const program::PhaseShape& shape, std::uint32_t queue) = 0;
  // Runs `amount` units of a shape for the workgroup in `seat`; then sink.fire(payload). Between two phases the seat
  // goes on counting as load of its CU: issuing a put or a fence is too short to leave its share to others.
  virtual void start(Seat seat, Rank rank, CuId cu, ShapeId shape, Rank peer, double amount, core::EventSink& sink,
                     std::uint64_t payload) = 0;
  // Work that its workgroup does not wait for: takes a seat of its own and no share of the CU from others.
  virtual void start_posted(Seat seat, Rank rank, CuId cu, ShapeId shape, Rank peer, double amount,
                            core::EventSink& sink, std::uint64_t payload) = 0;
  // The workgroup begins to wait for others, or retires: its share of the CU is free.
  virtual void leave(Seat seat) = 0;
  // `others` have done what `rank` did in `count` shapes from `first` on, without being simulated: what that took of
  // its own capacities is counted for theirs.
  virtual void stands_in(Rank rank, const std::vector<Rank>& others, ShapeId first, std::size_t count) = 0;
};

// --- Places for workgroups ---------------------------------------------------------------------------------------

// What one resident workgroup takes from its CU.
struct Footprint {
  std::int64_t threads = 0;    // rounded up to whole wavefronts
  std::int64_t registers = 0;  // of all its threads, rounded up to the allocation granularity
  double lds = 0;              // bytes
};

struct Grid {
  std::uint32_t id = 0;  // of the owner
  std::int64_t workgroups = 0;
  Footprint footprint;
  std::int64_t cluster = 1;
  int priority = 0;
  std::uint32_t mask = 0;  // of Dispatcher::add_mask; 0: all CUs
};

struct Placement {
  std::uint32_t grid;
  std::int64_t workgroup;
  CuId cu;
};

// Decides for one GPU which pending workgroup goes where, in which order.
class Dispatcher {
 public:
  virtual ~Dispatcher() = default;
  // Names a set of CUs that grids may be kept to; an empty one is all of them, mask 0.
  virtual std::uint32_t add_mask(const std::vector<CuId>& cus) = 0;
  virtual void add(const Grid& grid) = 0;
  virtual bool pending() const = 0;
  // One turn; appends what was placed. Placing nothing means that nothing fits until a workgroup retires.
  virtual void place(std::vector<Placement>& placed) = 0;
  virtual void retire(CuId cu, const Footprint& footprint) = 0;
  // Grids at the head of the queue and how many of their workgroups wait for a CU, for the deadlock report.
  struct Head {
    std::uint32_t grid;
    std::int64_t waiting;
  };
  virtual std::vector<Head> waiting() const = 0;
};

class Dispatchers {
 public:
  virtual ~Dispatchers() = default;
  virtual std::unique_ptr<Dispatcher> make_dispatcher() const = 0;
  virtual Footprint footprint(const program::WorkgroupResources& resources) const = 0;
};

// --- Power -------------------------------------------------------------------------------------------------------

// Counts the energy of every GPU, where the machine runs at an operating point.
class Meters {
 public:
  virtual ~Meters() = default;
  // A CU has its first workgroup, or has no more.
  virtual void occupied(Rank rank, bool is) = 0;
  // Matrix arithmetic leaves this share of the clock, for now.
  virtual void clock_left(Rank rank, double share) = 0;
  // Of one GPU.
  struct Drawn {
    double joules = 0;   // until `end`
    double highest = 0;  // watts at any moment
    double matrix_flop = 0;
    double occupied = 0;  // seconds of CUs that had workgroups
  };
  virtual Drawn drawn(Rank rank, Time end) const = 0;
};

// --- Copies ------------------------------------------------------------------------------------------------------

struct CopyRequest {
  CopyUse copy;
  std::uint32_t stream = 0;  // in which the engines see the program's queue
  Time ready;                // when the copy may begin as far as it is known before an engine comes to it
  core::EventSink* sink = nullptr;
  std::uint64_t payload = 0;
};

class Copies {
 public:
  virtual ~Copies() = default;
  // The request's sink fires when the last byte is written.
  virtual void submit(const CopyRequest& request) = 0;
  // Of the copy that fires now: its engine (for the timeline) and when its bytes began to move.
  struct Finished {
    std::uint32_t engine;
    Time begin;
  };
  virtual Finished finished(Rank rank, std::uint32_t queue) const = 0;
  // Does a copy within the GPU need no engine?
  virtual bool local_by_kernel() const = 0;
};

// --- Links between GPUs of a node --------------------------------------------------------------------------------

class ScaleUp {
 public:
  virtual ~ScaleUp() = default;
  // What the rank's links out and in have carried, of all queues.
  virtual double carried(Rank rank) const = 0;
};

// --- Puts between nodes ------------------------------------------------------------------------------------------

struct Put {
  Rank source = 0;  // GPUs whose NICs send and receive it
  Rank destination = 0;
  Rank sender = 0;  // GPUs whose message it is
  Rank receiver = 0;
  std::uint32_t queue = 0;          // of the program
  std::uint32_t queue_pair = 0;     // order holds within one of a destination
  Bytes bytes;                      // >= 1; a bare flag is its 8 bytes
  bool proxied = false;             // a host thread posts it
  Time after{};                     // until what was stored for it has come to the source's memory
  core::EventSink* sink = nullptr;  // fires when the data, and then its flag, can be seen at the destination
  std::uint64_t payload = 0;
};

class Puts {
 public:
  virtual ~Puts() = default;
  // Posts now; returns when the issuing thread is free again.
  virtual Time put(const Put& put) = 0;
  virtual core::EndpointId endpoint_of(Rank rank) const = 0;
};

// The network that puts travel through: one, or one for each queue.
class Networks {
 public:
  virtual ~Networks() = default;
  virtual std::size_t networks() const = 0;
  virtual core::Network& network(std::size_t number) = 0;
  virtual const core::Topology& topology() const = 0;
  // Runs until nothing is left to happen, where the network has a clock of its own; false: the machine's loop runs.
  virtual bool run() = 0;
};

}  // namespace moire::part
