// The scale-out network as FIFO ports, in our own calendar: what large studies use.
//
// A message is cut into chunks. Each first link (a NIC port) takes one chunk at a time and goes round robin over the
// flows (queue pairs) that start there. Every link is a FIFO server: a chunk whose head reaches the link at t has
//     start = max(t, free),  free = start + bytes / bandwidth,  tail = max(free, tail at the link before) + latency
// and its head reaches the next link at start + latency (cut-through). So one message alone takes
//     sum of latencies + bytes / smallest bandwidth, plus at most 1 ps a chunk of rounding,
// and a link passes at most its bandwidth: a fast link fed by slow ones is shared by their chunks, not held by one.
//
// A flow may have `window` chunks in the fabric besides the bandwidth-delay product of its own path; the source then
// serves its other flows. That is what end-to-end credits do: a flow to a crowded port neither blocks its neighbours
// at the source nor books ports far ahead. Switch buffers are not modelled otherwise: ports queue without limit, and
// no chunk waits behind one that goes elsewhere.
//
// One event a hop, and one when a message is delivered: no port is booked before the chunk is there, so FIFO order is
// exact and nothing overtakes. What
// comes to a link in the same picosecond is served in the order of where its ends are, seen from the link, so that a
// result does not depend on where endpoint 0 is. Memory grows with the messages and the chunks in flight, not with the
// traffic.
//
// Where endpoints of every `period` in a row do the same at the same time, it is enough that those of the first period
// send: a message to the k-th one stands for the one that comes from there, and goes through the links of the first.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/core/network.hpp"
#include "sim/core/run_loop.hpp"

namespace moire::core {

struct QueueNetworkSpec {
  Bytes chunk{64 * 1024.0};  // what a port serves at once
  std::int64_t window = 4;   // chunks that a flow may queue in the fabric, at least 2
};

class QueueNetwork final : public Network, private EventSink, private Settler {
 public:
  // The topology must outlive the network. `period`: endpoints that send, all by default; the topology turns by it.
  QueueNetwork(RunLoop& loop, const Topology& topology, QueueNetworkSpec spec = {}, EndpointId period = 0);

  void send(const Message& message) override;
  // Equal once all is delivered (to the last bit where messages have whole bytes).
  Bytes injected() const override { return injected_; }
  Bytes delivered() const override { return delivered_; }
  std::vector<LinkUse> use() const override;

  std::uint64_t chunk_hops() const { return chunk_hops_; }
  std::size_t flows_in_flight() const { return open_flows_; }

 private:
  using Index = std::uint32_t;
  static constexpr Index none = UINT32_MAX;

  struct Link {
    double ps_per_byte = 0;
    Time latency;
    Time free;  // end of the service of the last chunk that has reached this link
    Time busy;
    double carried = 0;
  };
  // The flows that wait at one first link, in round-robin order.
  struct Port {
    Index first = none, last = none;
    Index served = none;     // the flow whose chunk the port serves, if it has more to send
    Time free;               // end of the service of this port's own last chunk
    bool scheduled = false;  // its next turn is
  };
  struct Key {
    EndpointId source = 0, destination = 0;
    std::uint32_t flow = 0;
    bool operator==(const Key&) const = default;
  };
  static std::size_t hash(const Key& key);
  struct Hop {
    LinkId link;      // that serves it
    EndpointId home;  // of the link that it stands for
  };
  struct Flow {
    Key key;
    std::vector<Hop> path;
    double window = 0;
    double in_flight = 0;                               // of which what has arrived is taken off when somebody asks
    Index first_arriving = none, last_arriving = none;  // chunks that have passed their last link
    Index first_message = none, last_message = none;    // that wait
    Index messages = 0;                                 // not delivered
    Index next_ready = none;
    bool ready = false;          // in its port's round robin
    bool tells_arrival = false;  // the arrival of first_arriving is an event, since the flow waits for it
  };
  struct Pending {
    EventSink* sink = nullptr;
    std::uint64_t payload = 0;
    Time after;
    double left = 0;  // bytes
    Index flow = none;
    Index next = none;
    };
  struct Chunk {
    const Hop* path = nullptr;  // into its flow, which lives as long as it has chunks
    double bytes = 0;
    Time tail;  // when the last byte is at the link `hop`
    Index flow = none;
    Index message = none;  // whose last chunk this is
    Index next = none;     // that arrives
    std::uint16_t hop = 0, hops = 0;
  };

  // What comes to links at once, in the order in which they serve it.
  struct Arrival {
    LinkId link;
    EndpointId source, destination;  // as seen from the link
    std::uint32_t flow;
    Index index;
    bool operator<(const Arrival& o) const;
  };

  void fire(std::uint64_t payload) override;
  void fires_next(std::uint64_t payload) const override;
  void settle() override;
  Arrival at(const Hop& hop, const Flow& flow, Index index) const;
  void inject(LinkId port);
  Time pass(Chunk& chunk);  // through the link it has reached; returns when its head is at the next one
  void forward(Index chunk);
  void pass_last(Index chunk);
  void arrived(Index flow);  // takes off what has
  void tell_arrival(Index flow);
  void deliver(Index message);
  Index flow_for(const Key& key);
  std::size_t place_of(const Key& key) const;  // in table_: where it is, or would be
  void grow_table();
  void forget(const Key& key);
  bool can_send(Index flow);
  void offer(Index flow);  // to its port, unless it is in the round robin already or cannot send
  void enqueue(Port& port, Index flow);
  void wake(LinkId port);

  Calendar& calendar_;
  const Topology& topology_;
  QueueNetworkSpec spec_;
  EndpointId period_;
  std::vector<Link> links_;
  std::vector<Port> ports_;  // by first link
  // Flows that are open, each at the place that its key's hash says or behind it; a power of two of places, of which at
  // most half are taken.
  std::vector<Index> table_;
  std::size_t open_flows_ = 0;
  std::vector<Flow> flows_;
  std::vector<Index> free_flows_;
  std::vector<Pending> messages_;
  std::vector<Index> free_messages_;
  std::vector<Chunk> chunks_;
  std::vector<Index> free_chunks_;
  // Of this picosecond: flows that can send again, ports whose turn has come, chunks that have reached a link.
  std::vector<Arrival> offered_, arrived_;
  std::vector<LinkId> due_;
  std::vector<LinkId> route_;  // scratch
  Bytes injected_, delivered_;
  std::uint64_t chunk_hops_ = 0;
};

}  // namespace moire::core
