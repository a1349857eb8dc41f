// Interfaces between parts, and between parts and the replay. A part implements those that it offers.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "models/hardware/part/part.hpp"
#include "sim/core/network.hpp"

namespace moire::part {

using CuId = std::uint32_t;

// --- How a phase or a copy uses a part --------------------------------------------------------------------------

// A phase of workgroups of one kernel on `rank` with `peer`.
struct PhaseUse {
  const program::PhaseShape& shape;
  Rank rank = 0;
  Rank peer = 0;
  std::uint32_t queue = 0;
  double cu_share = 1;  // share of the CU's bytes in flight that one of these workgroups gets
};

// Latency of one load of a phase, in seconds.
struct Latency {
  double hit = 0;
  double miss = 0;
  double missed = 1;                        // share of the loads that miss
  core::CapacityId capacity = core::no_id;  // the capacity whose load stretches the latency
  double stretched = 0;                     // part of the latency that load stretches; 0: all of it
  // A batch of n loads waits for the slowest one, which takes `spread` longer for each factor e in n; 0: all loads take
  // the same time.
  double spread = 0;
  double line = 0;  // bytes fetched together (cache line)

  double mean() const { return missed * miss + (1 - missed) * hit; }
};

// A copy without workgroups.
struct CopyUse {
  Rank rank = 0;
  Rank peer = 0;  // equal to `rank` for a copy within the GPU
  Bytes bytes;
  std::uint32_t queue = 0;
  bool by_cus = false;  // done by a copy kernel of the driver
  // Not 0: a decompression within the GPU, which writes `bytes` and reads 1 / ratio of them.
  double ratio = 0;
};

// Implemented by parts whose capacities activities use: adds demands to a class, and bounds if the part has limits of
// its own.
class Shared {
 public:
  virtual ~Shared() = default;
  virtual void latency(const PhaseUse& /*use*/, Latency& /*latency*/) const {}
  virtual void use(const PhaseUse& /*use*/, core::ClassSpec& /*spec*/) const {}
  virtual void use(const CopyUse& /*use*/, core::ClassSpec& /*spec*/) const {}
  // Adds what the work counts on meters; changes no timing. Called for every phase, including those that move nothing.
  virtual void meter(const PhaseUse& /*use*/, core::ClassSpec& /*spec*/) const {}
  // True if a copy within a GPU stays in a cache. Such copies form a class of their own.
  virtual bool stays_in_cache(const CopyUse& /*use*/) const { return false; }
};

// --- Workgroups in phases ----------------------------------------------------------------------------------------

using ShapeId = std::uint32_t;
// The place of one resident workgroup. Seat numbers are chosen by the caller, small and reused.
using Seat = std::uint32_t;

class Phases {
 public:
  virtual ~Phases() = default;
  // `queue`: the queue of the program whose phases have this shape.
  virtual ShapeId add_shape(const program::PhaseShape& shape, std::uint32_t queue) = 0;
  // Runs `amount` units of a shape for the workgroup in `seat`, then calls sink.fire(payload). Between two phases the
  // seat still counts as load of its CU, because issuing a put or a fence is too short for others to use its share.
  virtual void start(Seat seat, Rank rank, CuId cu, ShapeId shape, Rank peer, double amount, core::EventSink& sink,
                     std::uint64_t payload) = 0;
  // Work that its workgroup does not wait for; has its own seat and takes no share of the CU from others.
  virtual void start_posted(Seat seat, Rank rank, CuId cu, ShapeId shape, Rank peer, double amount,
                            core::EventSink& sink, std::uint64_t payload) = 0;
  // The workgroup starts waiting for others, or retires: its share of the CU becomes free.
  virtual void leave(Seat seat) = 0;
  // `others` have done the same as `rank` in `count` shapes from `first` on without being simulated: adds what `rank`
  // took of its own capacities to theirs.
  virtual void stands_in(Rank rank, const std::vector<Rank>& others, ShapeId first, std::size_t count) = 0;
};

// --- Places for workgroups ---------------------------------------------------------------------------------------

// Resources that one resident workgroup takes from its CU.
struct Footprint {
  std::int64_t threads = 0;    // rounded up to whole wavefronts
  std::int64_t registers = 0;  // of all its threads together, rounded up to the allocation granularity
  double lds = 0;              // bytes
};

struct Grid {
  std::uint32_t id = 0;  // chosen by the caller
  std::int64_t workgroups = 0;
  Footprint footprint;
  std::int64_t cluster = 1;
  int priority = 0;
  std::uint32_t mask = 0;  // from Dispatcher::add_mask; 0: all CUs
};

struct Placement {
  std::uint32_t grid;
  std::int64_t workgroup;
  CuId cu;
};

// Dispatcher of one GPU: decides which pending workgroup is placed where, and in which order.
class Dispatcher {
 public:
  virtual ~Dispatcher() = default;
  // Registers a set of CUs that grids may be restricted to and returns its mask. An empty set means all CUs (mask 0).
  virtual std::uint32_t add_mask(const std::vector<CuId>& cus) = 0;
  virtual void add(const Grid& grid) = 0;
  virtual bool pending() const = 0;
  // One dispatch turn; appends the placements. If nothing is placed, nothing fits until a workgroup retires.
  virtual void place(std::vector<Placement>& placed) = 0;
  virtual void retire(CuId cu, const Footprint& footprint) = 0;
  // Grids with workgroups that wait for a CU, in service order, and their number; for the deadlock report.
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

// Energy meters of all GPUs; present if the machine runs at an operating point.
class Meters {
 public:
  virtual ~Meters() = default;
  // A CU gets its first workgroup, or has lost its last one.
  virtual void occupied(Rank rank, bool is) = 0;
  // Matrix arithmetic currently lowers the clock to this share.
  virtual void clock_left(Rank rank, double share) = 0;
  // Figures of one GPU.
  struct Drawn {
    double joules = 0;   // until `end`
    double highest = 0;  // highest power at any moment, in watts
    double matrix_flop = 0;
    double occupied = 0;  // CU-seconds with at least one workgroup
  };
  virtual Drawn drawn(Rank rank, Time end) const = 0;
};

// --- Copies ------------------------------------------------------------------------------------------------------

struct CopyRequest {
  CopyUse copy;
  std::uint32_t stream = 0;  // the hardware queue in which the engines see the program's queue
  Time ready;                // earliest start of the copy, as far as known before an engine is assigned
  core::EventSink* sink = nullptr;
  std::uint64_t payload = 0;
};

class Copies {
 public:
  virtual ~Copies() = default;
  // The request's sink fires when the last byte is written.
  virtual void submit(const CopyRequest& request) = 0;
  // Valid in the sink of a finished copy: its engine (for the timeline) and when its first byte moved.
  struct Finished {
    std::uint32_t engine;
    Time begin;
  };
  virtual Finished finished(Rank rank, std::uint32_t queue) const = 0;
  // True if copies within the GPU need no DMA engine.
  virtual bool local_by_kernel() const = 0;
};

class Decompressors {
 public:
  virtual ~Decompressors() = default;
  // As of a copy.
  virtual void submit(const CopyRequest& request) = 0;
  virtual Copies::Finished finished(Rank rank) const = 0;
};

// --- Links between GPUs of a node --------------------------------------------------------------------------------

class ScaleUp {
 public:
  virtual ~ScaleUp() = default;
  // Bytes carried by the rank's links in both directions, over all queues.
  virtual double carried(Rank rank) const = 0;
};

// --- Puts between nodes ------------------------------------------------------------------------------------------

struct Put {
  Rank source = 0;  // GPUs whose NICs send and receive the message
  Rank destination = 0;
  Rank sender = 0;  // GPUs that the message is from and for; they differ from source and destination if a relay is used
  Rank receiver = 0;
  std::uint32_t queue = 0;         // of the program
  std::uint32_t queue_pair = 0;    // messages of one queue pair to one destination stay in order
  Bytes bytes;                     // >= 1; a flag without data has 8 bytes
  bool proxied = false;            // posted by a host thread
  bool summed = false;             // by the switches, with the puts of this GPU of all other nodes (Phase::summed)
  Time after{};                    // until the data has been stored to the source's memory
  core::Receiver* told = nullptr;  // learns when data and flag are visible at the destination
  std::uint64_t payload = 0;
};

class Puts {
 public:
  virtual ~Puts() = default;
  // Posts now; returns when the issuing thread is free again.
  virtual Time put(const Put& put) = 0;
  virtual core::EndpointId endpoint_of(Rank rank) const = 0;
};

// The network that puts use: one for all queues, or one per queue.
class Networks {
 public:
  virtual ~Networks() = default;
  virtual std::size_t networks() const = 0;
  virtual core::Network& network(std::size_t number) = 0;
  virtual const core::Topology& topology() const = 0;
  // The address of GPU `gpu` of all nodes. Switches add up what these GPUs send there, and send each of them the sum.
  // The fabric must have switches that sum.
  virtual core::EndpointId sum_of(Rank gpu) const = 0;
  // Runs the simulation until no events are left, if the network has its own clock (SimGrid); false: the caller runs
  // the loop.
  virtual bool run() = 0;
};

}  // namespace moire::part
