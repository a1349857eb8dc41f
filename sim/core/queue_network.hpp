// The scale-out network as ports with FIFO queues, inside Moire's own calendar. Large studies use this network.
//
// A message is cut into chunks. The first link of a path (a NIC port) sends one chunk at a time, round robin over the
// flows (queue pairs) that start there. Sending one chunk is called a turn of its flow. A chunk has at most `chunk`
// bytes; the fewer bytes wait at the port, the shorter its chunks are, down to one packet. A real NIC alternates packet
// by packet, and with longer turns a short message would wait longer than at a real NIC. The time of an exchange of
// many bytes does not depend on the length of turns. Every link is a FIFO server: a chunk whose head reaches the link
// at time t has
//     start = max(t, free),  free = start + bytes / bandwidth,  tail = max(free, tail at the link before) + latency
// and its head reaches the next link at start + latency (cut-through). `free` is the time at which the link has sent
// all chunks that reached it until now. `tail` is the time at which the chunk's last byte leaves the link at its far
// end. A message without other traffic takes
//     sum of latencies + bytes / smallest bandwidth, plus at most 1 ps of rounding per chunk.
// A fast link that receives from several slow links interleaves their chunks: a chunk that arrives slowly occupies the
// fast link only for the chunk's bytes / bandwidth of the fast link.
//
// A flow may have the bandwidth-delay product of its path plus `window` chunks in the fabric. A flow with this many
// bytes in the fabric waits until chunks of it have arrived, and its source serves other flows. This models end-to-end
// credits: a flow to a congested port neither blocks other flows of its source nor fills the queues of ports. Other
// effects of switch buffers are not modelled: port queues are unlimited, and there is no head-of-line blocking between
// flows.
//
// The arrival time of a message is known when its last chunk reaches the last link, and the receiver is told at this
// moment. A port is reserved only in the order in which chunks reach it, so FIFO order is exact and no chunk overtakes
// another. Chunks that reach a link in the same picosecond are served in the order of the positions of their source and
// destination, counted from the endpoint that the link belongs to (Topology::home). So a result does not depend on
// which endpoint is number 0. Memory grows with the messages and chunks in flight, not with the total traffic.
//
// Chunks need no events of their own. Time is divided into batches. A batch is as long as the smallest latency of all
// links (the lookahead), and a head needs at least this time from one link to the next. Therefore, at the begin of a
// batch, all heads that reach a link within this batch are known. They are served link by link, in the order of their
// times. The turns of a port are computed at the end of the batch in which they begin, or earlier if a message is added
// to the port. The resulting times are those that one event per turn and per hop would give (test:
// `ManyMessages.TimesDoNotDependOnTheLookahead`). If some link has no latency, batches are 1 ps long.
//
// If a topology spreads the packets of a flow over several routes (Topology::routes), successive chunks alternate among
// the routes and may overtake each other. A message arrives when all its chunks and all earlier messages of its flow
// have arrived.
//
// If all blocks of `period` successive endpoints do the same at the same time, only the endpoints of block 0 have to
// send (folding). A message from block 0 to block k is delivered within block 0: each link of the message's path is
// replaced by the corresponding link of block 0. By symmetry, this message represents the message that block -k (modulo
// the number of blocks) sends to block 0.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "sim/core/circle.hpp"
#include "sim/core/index_table.hpp"
#include "sim/core/network.hpp"
#include "sim/core/pool.hpp"
#include "sim/core/run_loop.hpp"

namespace moire::core {

struct QueueNetworkSpec {
  Bytes chunk{16 * 1024.0};  // the most bytes of a flow that a port sends in one turn
  Bytes packet{4 * 1024.0};  // bytes of a turn while few bytes wait; if equal to `chunk`, all turns have this size
  std::int64_t window = 4;  // chunks that a flow may queue in the fabric beyond its bandwidth-delay product; at least 2
};

class QueueNetwork final : public Network, private EventSink, private Settler {
 public:
  // The topology must outlive the network. `period` is the number of endpoints that send (default: all);
  // topology.turns(period) must hold.
  QueueNetwork(RunLoop& loop, const Topology& topology, QueueNetworkSpec spec = {}, EndpointId period = 0);

  // Sets how endpoints are counted from the home of a link (Topology::home). By default, they are on one circle.
  void set_circle(Circle endpoints) { circle_ = std::move(endpoints); }
  void send(const Message& message) override;
  // injected() and delivered() are equal once the arrival times of all messages are known. They are equal to the last
  // bit if all messages have whole numbers of bytes.
  Bytes injected() const override { return injected_; }
  Bytes delivered() const override { return delivered_; }
  std::vector<LinkUse> use() const override;

  std::uint64_t chunk_hops() const { return chunk_hops_; }
  std::size_t open_flows() const { return open_flows_.size(); }
  std::size_t known_paths() const { return paths_.taken(); }
  // Number of chunks in the fabric, and of those that have arrived and still take memory.
  std::size_t known_chunks() const { return chunks_.taken() + arrivals_.taken(); }

 private:
  using Index = std::uint32_t;
  static constexpr Index none = UINT32_MAX;

  struct Link {
    double ps_per_byte = 0;
    Time latency;
    Time free;  // end of service of the last chunk that has reached this link
    Time busy;
    double carried = 0;
    std::uint32_t heads = 0;  // number of heads that reach it in the present batch
  };
  // The head of a chunk reaches a link at time `at`.
  struct Head {
    Time at;
    LinkId link;
    Index chunk;
  };
  // A flow that waits for credits, which return at time `until`.
  struct Blocked {
    Time until;
    Index flow;
  };
  using BatchNumber = std::int64_t;
  static constexpr BatchNumber no_batch = INT64_MAX;
  // A link with which paths begin, and the flows that wait to send over this link, in round-robin order. All turns
  // before the present batch are computed.
  struct Port {
    Index first = none, last = none;
    Index served = none;            // the flow whose chunk the port is sending, if it has more to send
    Time free;                      // end of service of the last chunk that this port sent
    Time next;                      // time of its next turn, if a flow waits
    double waiting = 0;             // bytes of all messages that this port has not sent
    BatchNumber listed = no_batch;  // the first batch that has this port in Batch::ports
    std::vector<Blocked> blocked;   // blocked flows whose `until` is known, sorted by it
    std::vector<Head> heads;        // if switches send: chunks that come from another link, in order of time
    std::size_t served_heads = 0;   // number of `heads` that have been served

    bool has_flow() const { return first != none || served != none; }
    Time due() const;  // returns the time of the next turn, return of credits or head; Time::max() if there is none
  };
  struct Key {
    EndpointId source = 0, destination = 0;
    std::uint32_t flow = 0;
    bool operator==(const Key&) const = default;
  };
  static std::uint64_t hash(const Key& key);
  struct Hop {
    LinkId link;      // the link that transmits
    EndpointId home;  // home of the original link, before mapping to the simulated block
  };
  struct Flow {
    Key key;
    Hop first;                                        // the first link, which is the flow's port
    Index path = none;                                // index in paths_, set when the flow sends its first chunk
    Index first_message = none, last_message = none;  // messages that wait to be sent
    Index next_ready = none;
    Index messages : 31 = 0;  // number of messages whose arrival time is not known yet
    Index ready : 1 = 0;      // queued in its port's round robin
  };
  // The state of a flow that has sent chunks. Most flows of a large exchange still wait for their port and need no
  // Path.
  struct Path {
    std::unique_ptr<Hop[]> hops;  // of all routes of the flow, one route after the other
    double window = 0;
    double in_flight = 0;                               // bytes in the fabric; arrived() deducts what has arrived
    Index first_arriving = none, last_arriving = none;  // in arrivals_, in the order of their times
    Index spread = none;                                // index in spreads_, if the flow takes several routes
    Index on_way = 0;                                   // number of chunks that have not passed their last link
    std::uint16_t length = 0;                           // number of hops of a route
    bool blocked = false;                               // in Port::blocked, until the time of first_arriving
    bool ending = false;                                // in ending_
    bool idle = false;                                  // in idle_
  };
  // State of a flow whose chunks take several routes.
  struct Spread {
    // A message whose arrival time is not known yet.
    struct Untold {
      Index message;
      std::uint32_t on_way = 0;  // number of its chunks that have not passed their last link
      Time latest{};             // latest arrival of its other chunks
    };
    std::uint32_t routes = 1;
    std::uint32_t next = 0;       // route of the next chunk
    std::deque<Untold> untold{};  // in the order in which they were sent
    Time told{};                  // arrival time of the message before those in `untold`
  };
  struct Pending {
    std::uint64_t payload = 0;
    double left = 0;     // bytes that are not sent yet
    Index delivery = 0;  // index in deliveries_
    Index next = none;
  };
  // Who is told of a message, and Message::after. Nearly all messages of a run have one of a few values.
  struct Delivery {
    Receiver* receiver;
    Time after;
    bool operator==(const Delivery&) const = default;
  };
  // A message whose arrival time `at` is known. Its receiver is told at the end of the present picosecond.
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
    Index message = none;  // set for the last chunk of a message; if the flow has several routes, for every chunk
    std::uint16_t hop = 0, hops = 0;
  };
  // What is left of a chunk that has passed its last link: its last byte arrives at time `at`.
  struct Arrival {
    Time at;
    double bytes = 0;
    Index next = none;  // of the same flow
  };

  // A flow that joins the queue of its port. The fields before `index` order the flows that join in one picosecond.
  struct Offer {
    LinkId port;
    EndpointId source, destination;  // relative to the home of the port, see seen()
    std::uint32_t flow;
    Index index;
    bool operator<(const Offer& o) const;
  };
  struct Batch {
    std::vector<LinkId> ports;  // ports whose turns compute_turns() computes when the batch begins
    std::vector<Head> heads;    // heads that reach a link within the batch
  };

  void fire(std::uint64_t payload) override;
  void settle() override;
  // Returns the positions of a flow's source and destination, counted from the home of a link (Topology::home).
  std::pair<EndpointId, EndpointId> seen(const Hop& hop, const Flow& flow) const;
  BatchNumber batch_of(Time at) const { return at.ps / lookahead_.ps; }
  // All turns before the previous batch are computed, so no turn asks again for arrivals before this time.
  Time settled() const { return lookahead_ * (batch_of(calendar_.now()) - 1); }
  Batch& batch(BatchNumber number);  // returns batch `number`, or the next batch if `number` has begun already
  void compute_turns();
  void serve_heads();
  void sort_by_link(const std::vector<Head>& heads);
  void catch_up(LinkId port, Time until);  // computes everything that happens at the port before `until`
  void turn(LinkId port);                  // serves the next turn of the port
  void list(LinkId port);                  // adds the port to the batch that must compute its next turn
  double turn_of(const Port& port) const;  // returns the largest number of bytes of the port's next turn
  // pass() and forward() serve a chunk at the link that its head reaches at time `at`. pass() returns the time at which
  // the head reaches the next link.
  Time pass(Chunk& chunk, Time at);
  void forward(Index chunk, Time at);
  void pass_last(Index chunk);
  void pass_last_of_several(const Chunk& chunk);
  void end_message(Index flow, Index message, Time at);
  void arrived(Path& path, Time until);  // deducts chunks that have arrived by `until` from Path::in_flight
  void block(Index flow);                // blocks a flow until a chunk of it arrives, if this time is known
  void reconsider(Index flow);
  void end_flows();  // forgets flows whose last bytes have arrived, and paths of flows that have nothing in the fabric
  Index flow_for(const Key& key);
  Index delivery_of(const Delivery& delivery);
  Hop hop_of(LinkId link) const;
  void find_path(Index flow);
  bool can_send(Index flow, Time at);
  // Adds the flow to `offers`, unless the flow is queued already or cannot send.
  void offer(Index flow, Time at, std::vector<Offer>& offers);
  void unblock(Port& port, Time at, std::vector<Offer>& offers);
  void queue_up(std::vector<Offer>& offers, Time at);
  void enqueue(Port& port, Index flow, Time at);

  Calendar& calendar_;
  const Topology& topology_;
  QueueNetworkSpec spec_;
  EndpointId period_;
  Circle circle_;
  std::vector<Link> links_;
  std::vector<Port> ports_;  // indexed by LinkId; used for links that are the first of a path
  IndexTable open_flows_;    // by Flow::key
  Pool<Flow> flows_;
  Pool<Path> paths_;
  Pool<Spread> spreads_;
  // Flows without messages to send, and the time `at` at which their last bytes arrive. They are in the order in which
  // these times became known.
  struct Ending {
    Index flow;
    Time at;
  };
  std::deque<Ending> ending_;
  // Flows that have more messages to send, but had nothing on the way when their last chunk had passed its last link.
  // Their paths are forgotten after the time `at`, unless they have sent again. An entry may be outdated.
  std::deque<Ending> idle_;
  Pool<Pending> messages_;
  std::vector<Delivery> deliveries_;
  Pool<Chunk> chunks_;
  Pool<Arrival> arrivals_;
  Time lookahead_{1};
  std::map<BatchNumber, Batch> batches_;
  std::vector<std::map<BatchNumber, Batch>::node_type> spare_;
  std::vector<Told> told_;
  bool switches_send_ = false;
  bool begins_ = false;         // a batch begins in this picosecond
  std::vector<Offer> offered_;  // flows that join the queues of their ports in this picosecond
  std::vector<Offer> returning_;
  std::vector<Head> heads_;  // heads of a batch, sorted by sort_by_link()
  std::vector<LinkId> reached_;
  std::vector<LinkId> route_;  // scratch
  Bytes injected_, delivered_;
  std::uint64_t chunk_hops_ = 0;
};

}  // namespace moire::core
