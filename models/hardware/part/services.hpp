// Interfaces between parts, and between parts and the replay. A part implements the interfaces that it offers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "models/hardware/part/part.hpp"
#include "sim/core/circle.hpp"
#include "sim/core/network.hpp"

namespace moire::part {

using CuId = std::uint32_t;

// --- How a phase or a copy uses a part --------------------------------------------------------------------------

// A work phase of a kernel's workgroups on `rank`. `peer` is the GPU whose memory they store to or load from over the
// scale-up links.
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
  double missed = 1;                        // share of the loads that miss the cache
  core::CapacityId capacity = core::no_id;  // the latency grows with the load of this capacity
  double stretched = 0;                     // seconds of the latency that grow with the load; 0: all of it grows
  // The slowest of n loads takes spread x ln(n) seconds longer than `miss`; 0: all loads take the same time.
  double spread = 0;
  double line = 0;  // size of a cache line in bytes

  double mean() const { return missed * miss + (1 - missed) * hit; }
};

// A copy by a DMA engine, a decompression engine or a copy kernel of the driver, but not by workgroups of the program.
struct CopyUse {
  Rank rank = 0;
  Rank peer = 0;  // equal to `rank` for a copy within the GPU
  Bytes bytes{};
  std::uint32_t queue = 0;
  bool by_cus = false;  // a copy kernel of the driver copies
  // Not 0: a decompression within the GPU, which writes `bytes` and reads bytes / ratio.
  double ratio = 0;
  // Not direct: a copy between the memory of `rank`, which is then also `peer`, and the memory of the node's host.
  program::Transfer::Way way = program::Transfer::Way::direct;
  Bytes host_footprint{};  // Transfer::host_footprint
  bool again = false;      // Transfer::again

  bool by_host_memory() const { return way != program::Transfer::Way::direct; }
  bool within_gpu() const { return peer == rank && !by_host_memory(); }
};

// Implemented by every part with capacities that activities (phases, copies) use. use() adds the demands on this part
// to a class of the sharing law, and a bound on the rate if the part has a limit that is not a capacity.
class Shared {
 public:
  virtual ~Shared() = default;
  virtual void latency(const PhaseUse& /*use*/, Latency& /*latency*/) const {}
  virtual void use(const PhaseUse& /*use*/, core::ClassSpec& /*spec*/) const {}
  virtual void use(const CopyUse& /*use*/, core::ClassSpec& /*spec*/) const {}
  // Adds to the class what its meters count per unit of work, such as joules. Meters change no times. Called for every
  // phase, including phases that move no bytes.
  virtual void meter(const PhaseUse& /*use*/, core::ClassSpec& /*spec*/) const {}
  // Return the capacities of the memory of a GPU, and of its links in both directions (more in a counterfactual run),
  // or none if the part has neither.
  virtual std::vector<core::CapacityId> memories(Rank /*rank*/) const { return {}; }
  virtual std::vector<core::CapacityId> wires(Rank /*rank*/) const { return {}; }
  // True if source and destination of a copy within a GPU lie in a cache. These copies form a class of their own.
  virtual bool stays_in_cache(const CopyUse& /*use*/) const { return false; }
};

// --- Workgroups in phases ----------------------------------------------------------------------------------------

using ShapeId = std::uint32_t;
// Number of one strand of a resident workgroup (a list of phases that run one after the other) or of one posted phase,
// which runs beside the strand that posted it. The caller chooses the numbers. They should be small and be reused,
// because they index arrays.
using Seat = std::uint32_t;

class Phases {
 public:
  virtual ~Phases() = default;
  // `queue`: the queue of the program whose phases have this shape.
  virtual ShapeId add_shape(const program::PhaseShape& shape, std::uint32_t queue) = 0;
  // Runs `amount` units of a shape for the workgroup in `seat`, then calls sink.fire(payload). Between two phases the
  // workgroup still counts as load of its CU: issuing a put or a fence is too short for others to use its share.
  virtual void start(Seat seat, Rank rank, CuId cu, ShapeId shape, Rank peer, double amount, core::EventSink& sink,
                     std::uint64_t payload) = 0;
  // Runs work that its workgroup does not wait for. The work has a seat of its own and takes no share of the CU from
  // workgroups.
  virtual void start_posted(Seat seat, Rank rank, CuId cu, ShapeId shape, Rank peer, double amount,
                            core::EventSink& sink, std::uint64_t payload) = 0;
  // Called when the workgroup in `seat` starts to wait for a flag or retires. Its share of the CU becomes free.
  virtual void leave(Seat seat) = 0;
  // Returns how much later than an average one the last of `workgroups` workgroups ends whose last phase was as that of
  // the workgroup in `seat`, which has started at least one.
  virtual Time straggles(Seat seat, std::int64_t workgroups) const = 0;
  // Counts the work of the ranks `others`, whose kernel was not simulated because `rank` stood in for them. Takes what
  // `rank` did in the shapes from `first` to first + count - 1, and counts the same amounts on the capacities of each
  // other rank.
  virtual void stands_in(Rank rank, const std::vector<Rank>& others, ShapeId first, std::size_t count) = 0;
  // Returns how far in the past the load of a GPU's memory still affects phases of the added shapes that begin now.
  virtual Time looks_back() const = 0;
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

// Dispatcher of one GPU: decides which pending workgroup is placed on which CU, and in which order.
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
  // A grid and the number of its workgroups that wait for a CU.
  struct Head {
    std::uint32_t grid;
    std::int64_t waiting;
  };
  virtual std::vector<Head> waiting() const = 0;  // in service order; for the deadlock report
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
  // Called when a CU of `rank` gets its first workgroup (is = true) or loses its last workgroup (is = false).
  virtual void occupied(Rank rank, bool is) = 0;
  // Called when the power of matrix arithmetic changes the clock of `rank`. `share`: the new clock as a fraction of the
  // clock without matrix arithmetic.
  virtual void clock_left(Rank rank, double share) = 0;
  // Energy and work of one GPU in a run that ended at `end`.
  struct Drawn {
    double joules = 0;
    double highest = 0;  // highest power at any moment, in watts
    double matrix_flop = 0;
    double occupied = 0;  // time with at least one workgroup, in seconds, summed over the CUs
  };
  virtual Drawn drawn(Rank rank, Time end) const = 0;
};

// The clocks of GPUs, which also depend on the traffic of memories and links.
class Clocks {
 public:
  virtual ~Clocks() = default;
  // Called when traffic of a GPU begins or ends that is not a phase of one of its workgroups.
  virtual void traffic_changes(Rank rank) = 0;
};

// --- Copies ------------------------------------------------------------------------------------------------------

struct CopyRequest {
  CopyUse copy;
  // The hardware queue of the copy. An engine takes longer to switch to a copy of another hardware queue. Each queue of
  // the program has its own hardware queue, but with Order::serial all queues share one.
  std::uint32_t stream = 0;
  Time ready;  // earliest time at which an engine can read the command of the copy
  // Time of the two events around a copy, if this copy has none: the measured times of commands include it.
  Time without_events{};
  core::EventSink* sink = nullptr;
  std::uint64_t payload = 0;
};

class Copies {
 public:
  virtual ~Copies() = default;
  // The request's sink fires when the last byte is written.
  virtual void submit(const CopyRequest& request) = 0;
  // The engines of a GPU take copies to peers that begin together, each in a hardware queue of its own, in cyclic
  // order. Returns the number of the copy with which they begin (0 to copies - 1) if the order is left to chance.
  virtual std::ptrdiff_t begins_with(Rank rank, std::size_t copies) const = 0;
  // Engine of a copy (for the timeline), and when its first byte moved.
  struct Finished {
    std::uint32_t engine;
    Time begin;
  };
  // Returns the engine and the begin of a copy that has just ended. Only valid while the sink of this copy fires.
  virtual Finished finished(const CopyUse& copy) const = 0;
  // True if copies within the GPU need no DMA engine.
  virtual bool local_by_kernel() const = 0;
};

class Decompressors {
 public:
  virtual ~Decompressors() = default;
  // The request's sink fires when the last byte is written. The request's copy has a `ratio`.
  virtual void submit(const CopyRequest& request) = 0;
  virtual Copies::Finished finished(Rank rank) const = 0;
};

// --- Links between GPUs of a node --------------------------------------------------------------------------------

class ScaleUp {
 public:
  virtual ~ScaleUp() = default;
  // Returns the bytes that the links of the rank's port have carried in both directions, for all queues together.
  virtual double carried(Rank rank) const = 0;
};

// --- Puts between nodes ------------------------------------------------------------------------------------------

struct Put {
  Rank source = 0;          // GPU whose NIC sends the message
  Rank destination = 0;     // GPU whose NIC receives the message
  Rank sender = 0;          // GPU that the message is from; not `source` if a relay on the sender's node sends it
  Rank receiver = 0;        // GPU that the message is for; not `destination` if a relay on the receiver's node gets it
  std::uint32_t queue = 0;  // of the program
  std::uint32_t queue_pair = 0;    // messages of one queue pair to one destination stay in order
  Bytes bytes;                     // >= 1; a flag without data has 8 bytes
  bool proxied = false;            // posted by a host thread
  bool summed = false;             // the switches add it to the puts of the same GPU of all other nodes (Phase::summed)
  Time after{};                    // time until the data is in the memory of `source`, if a relay sends it
  core::Receiver* told = nullptr;  // its arrives() is called when data and flag are visible at the destination
  std::uint64_t payload = 0;
};

class Puts {
 public:
  virtual ~Puts() = default;
  // Posts the put at the current time. Returns the time at which the issuing thread is free again.
  virtual Time put(const Put& put) = 0;
  virtual core::EndpointId endpoint_of(Rank rank) const = 0;
};

// The networks that puts use: one for all queues, or one per queue in a counterfactual run.
class Networks {
 public:
  virtual ~Networks() = default;
  virtual std::size_t networks() const = 0;
  virtual core::Network& network(std::size_t number) = 0;
  virtual const core::Topology& topology() const = 0;
  // Returns the address of a group: the GPUs that have the index `gpu` in their nodes. The switches add up what these
  // GPUs send to the address, and send the sum to each of them. The fabric must have switches that sum.
  virtual core::EndpointId sum_of(Rank gpu) const = 0;
  // Sets how positions of ranks are counted from a rank, for the order of simultaneous messages (fold.hpp).
  virtual void set_circle(const core::Circle& of_ranks) = 0;
  // If the network has its own clock (SimGrid), runs the simulation until no events are left and returns true.
  // Otherwise returns false, and the caller runs the loop.
  virtual bool run() = 0;
};

}  // namespace moire::part
