// The scale-out network as FIFO ports inside our own calendar; large studies use it.
//
// A message is cut into chunks. The first link of a path (a NIC port) takes one chunk at a time, round robin over the
// flows (queue pairs) that start there. A chunk is `chunk` long, but the less waits at the port the shorter it is, down
// to a packet: turns of hardware are packets, and coarser ones make short messages wait, but the time of an exchange of
// many bytes does not depend on them. Every link is a FIFO server: a chunk whose head reaches the link at time t has
//     start = max(t, free),  free = start + bytes / bandwidth,  tail = max(free, tail at the link before) + latency
// and its head reaches the next link at start + latency (cut-through). A message alone therefore takes
//     sum of latencies + bytes / smallest bandwidth, plus at most 1 ps of rounding per chunk.
// A fast link that is fed by slow ones interleaves their chunks; no slow chunk reserves it.
//
// A flow may have the bandwidth-delay product of its path plus `window` chunks in the fabric; beyond that, its source
// serves other flows. This models end-to-end credits: a flow to a congested port neither blocks its neighbours at the
// source nor reserves ports far ahead. Other effects of switch buffers are not modelled: port queues are unlimited, and
// there is no head-of-line blocking between flows.
//
// The arrival is known when the last chunk has reached the last link, and the receiver is told then. A port is reserved
// only in the order in which chunks reach it, so FIFO order is exact and nothing overtakes. Chunks that reach a link in
// the same picosecond are served in the order of their endpoints relative to the link, so that a result does not depend
// on which endpoint is number 0. Memory grows with the messages and chunks in flight, not with the total traffic.
//
// Chunks need no events of their own. No head reaches the next link earlier than the smallest latency of all links (the
// lookahead) after it has reached this one. So time is cut into batches as long as the lookahead. At the begin of a
// batch all heads that reach a link within it are known, and are served link by link, in the order of their times. The
// turns of ports are computed at the end of the batch in which they begin, or earlier if something changes at the port:
// a new message, or credits that return. This gives the times that one event per turn and per hop would give
// (test: `ManyMessages.TimesDoNotDependOnTheLookahead`). If a link has no latency, batches are 1 ps long.
//
// If a topology spreads the packets of a flow over several routes (Topology::routes), the chunks take them in turns.
// They may overtake each other; a message arrives when all its chunks and all messages of its flow before it have
// arrived.
//
// If blocks of `period` endpoints all do the same at the same time, only the first block has to send. A message from
// the first block to block k is delivered within the first block: it stands for the message that the block k places
// back sends there, and it uses the corresponding links.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "sim/core/network.hpp"
#include "sim/core/pool.hpp"
#include "sim/core/run_loop.hpp"

namespace moire::core {

struct QueueNetworkSpec {
  Bytes chunk{16 * 1024.0};  // the most that a port sends of a flow in one turn
  Bytes packet{4 * 1024.0};  // the same where little waits; equal to `chunk` for turns that do not depend on that
  std::int64_t window = 4;  // chunks that a flow may queue in the fabric beyond its bandwidth-delay product; at least 2
};

class QueueNetwork final : public Network, private EventSink, private Settler {
 public:
  // The topology must outlive the network. `period` is the number of endpoints that send (default: all);
  // topology.turns(period) must hold.
  QueueNetwork(RunLoop& loop, const Topology& topology, QueueNetworkSpec spec = {}, EndpointId period = 0);

  void send(const Message& message) override;
  // Equal once every arrival is known; exactly equal if all messages have whole bytes.
  Bytes injected() const override { return injected_; }
  Bytes delivered() const override { return delivered_; }
  std::vector<LinkUse> use() const override;

  std::uint64_t chunk_hops() const { return chunk_hops_; }
  std::size_t open_flows() const { return open_flows_; }

 private:
  using Index = std::uint32_t;
  static constexpr Index none = UINT32_MAX;

  struct Link {
    double ps_per_byte = 0;
    Time latency;
    Time free;  // end of service of the last chunk that has reached this link
    Time busy;
    double carried = 0;
    std::uint32_t heads = 0;  // that reach it in the present batch
  };
  // A chunk that reaches a link.
  struct Head {
    Time at;
    LinkId link;
    Index chunk;
  };
  // A flow that waits for credits, and when they return.
  struct Blocked {
    Time until;
    Index flow;
  };
  using BatchNumber = std::int64_t;
  static constexpr BatchNumber no_batch = INT64_MAX;
  // The flows that wait at one first link, in round-robin order. All turns before the present batch are computed.
  struct Port {
    Index first = none, last = none;
    Index served = none;            // the flow whose chunk the port is sending, if it has more to send
    Time free;                      // end of service of the last chunk that this port sent
    Time next;                      // its next turn, if a flow waits
    double waiting = 0;             // bytes of all messages that this port has not sent
    BatchNumber listed = no_batch;  // the first batch at whose begin it is looked at
    std::vector<Blocked> blocked;   // in the order in which they can send again, as far as that is known
    std::vector<Head> heads;        // that reach the link, if switches send and so take turns with them
    std::size_t served_heads = 0;   // of these

    bool has_flow() const { return first != none || served != none; }
    Time due() const;  // of what happens at it next; Time::max(): nothing
  };
  struct Key {
    EndpointId source = 0, destination = 0;
    std::uint32_t flow = 0;
    bool operator==(const Key&) const = default;
  };
  static std::size_t hash(const Key& key);
  struct Hop {
    LinkId link;      // the link that transmits
    EndpointId home;  // home of the original link, before mapping to the simulated block
  };
  struct Flow {
    Key key;
    Hop first;                                        // its port
    Index path = none;                                // in paths_, from its first chunk on
    Index first_message = none, last_message = none;  // messages that wait to be sent
    Index messages = 0;                               // whose arrival is not known yet
    Index next_ready = none;
    bool ready = false;  // queued in its port's round robin
  };
  // The part of a flow that has chunks in the fabric. Most flows of an exchange wait for their port and have none.
  struct Path {
    std::vector<Hop> hops;  // with several routes, those of one behind those of another
    double window = 0;
    double in_flight = 0;                               // bytes; arrived chunks are deducted lazily, by arrived()
    Index first_arriving = none, last_arriving = none;  // chunks that have passed their last link
    Index spread = none;                                // in spreads_, if it takes several routes
    bool blocked = false;                               // listed in its port, until first_arriving has arrived
    bool ending = false;                                // in ending_
  };
  // State of a flow whose chunks take several routes.
  struct Spread {
    // A message whose arrival is not known: its chunks that have not passed their last link, and the arrival of the
    // last of the others.
    struct Untold {
      Index message;
      std::uint32_t on_way = 0;
      Time latest{};
    };
    std::uint32_t routes = 1;
    std::uint32_t next = 0;       // route of the next chunk
    std::deque<Untold> untold{};  // in the order in which they were sent
    Time told{};                  // arrival of the message before them
  };
  struct Pending {
    Receiver* receiver = nullptr;
    std::uint64_t payload = 0;
    Time after;
    double left = 0;  // bytes
    Index flow = none;
    Index next = none;
  };
  // A message that has ended, and whose receiver learns it at the end of the picosecond.
  struct Told {
    Receiver* receiver;
    std::uint64_t payload;
    Time at;
  };
  struct Chunk {
    const Hop* path = nullptr;  // points into its flow's path, which exists as long as it has chunks
    double bytes = 0;
    Time tail;  // time at which the last byte reaches link `hop`
    Index flow = none;
    Index message = none;  // set for the last chunk of a message; with several routes, for all
    Index next = none;     // next arriving chunk of the flow
    std::uint16_t hop = 0, hops = 0;
  };

  // A flow that queues up at its port, with the key that orders those of one picosecond.
  struct Offer {
    LinkId port;
    EndpointId source, destination;  // as seen from the port
    std::uint32_t flow;
    Index index;
    bool operator<(const Offer& o) const;
  };
  struct Batch {
    std::vector<LinkId> ports;  // to be looked at when it begins
    std::vector<Head> heads;    // that reach a link within it
  };

  void fire(std::uint64_t payload) override;
  void settle() override;
  // Positions of a flow's ends as seen from a link's home.
  std::pair<EndpointId, EndpointId> seen(const Hop& hop, const Flow& flow) const;
  BatchNumber batch_of(Time at) const { return at.ps / lookahead_.ps; }
  Batch& batch(BatchNumber number);  // that one, or the next to begin if it has begun
  void compute_turns();
  void serve_heads();
  void sort_by_link(const std::vector<Head>& heads);
  void catch_up(LinkId port, Time until);  // computes what happens at it before `until`
  void turn(LinkId port);                  // its next one
  void list(LinkId port);                  // in the batch that looks at it next
  double turn_of(const Port& port) const;  // bytes
  // Lets a chunk through the link that its head reaches at `at`; pass() returns when it reaches the next one.
  Time pass(Chunk& chunk, Time at);
  void forward(Index chunk, Time at);
  void pass_last(Index chunk);
  void pass_last_of_several(Index chunk);
  void end_message(Index message, Time at);
  void arrived(Index flow, Time until);  // deducts chunks that have arrived
  void block(Index flow);                // until its first chunk in the fabric has arrived, if that time is known
  void reconsider(Index flow);
  void end_flows();  // forgets flows whose last bytes have arrived
  Index flow_for(const Key& key);
  Hop hop_of(LinkId link) const;
  void find_path(Index flow);
  std::size_t place_of(const Key& key) const;  // index in table_ at which the key is, or would be inserted
  void grow_table();
  void forget(const Key& key);
  bool can_send(Index flow, Time at);
  // Adds it to `offers`, unless it is queued already or cannot send.
  void offer(Index flow, Time at, std::vector<Offer>& offers);
  void unblock(Port& port, Time at, std::vector<Offer>& offers);
  void queue_up(std::vector<Offer>& offers, Time at);
  void enqueue(Port& port, Index flow, Time at);

  Calendar& calendar_;
  const Topology& topology_;
  QueueNetworkSpec spec_;
  EndpointId period_;
  std::vector<Link> links_;
  std::vector<Port> ports_;  // by first link
  // Hash table of open flows with linear probing; its size is a power of two, and at most half of it is used.
  std::vector<Index> table_;
  std::size_t open_flows_ = 0;
  Pool<Flow> flows_;
  Pool<Path> paths_;
  Pool<Spread> spreads_;
  // Flows without messages to send, and when their last bytes arrive, in the order in which that became known.
  struct Ending {
    Index flow;
    Time at;
  };
  std::deque<Ending> ending_;
  Pool<Pending> messages_;
  Pool<Chunk> chunks_;
  Time lookahead_{1};
  std::map<BatchNumber, Batch> batches_;
  std::vector<std::map<BatchNumber, Batch>::node_type> spare_;
  std::vector<Told> told_;
  bool switches_send_ = false;
  bool begins_ = false;         // a batch begins in this picosecond
  std::vector<Offer> offered_;  // in this picosecond
  std::vector<Offer> returning_;
  std::vector<Head> heads_;  // of a batch, link by link
  std::vector<LinkId> reached_;
  std::vector<LinkId> route_;  // scratch
  Bytes injected_, delivered_;
  std::uint64_t chunk_hops_ = 0;
};

}  // namespace moire::core
