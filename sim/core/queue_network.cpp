// Over 400 lines: the code follows a message from its flow to its arrival.
#include "sim/core/queue_network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "sim/core/failure.hpp"
#include "sim/core/invariant.hpp"

namespace moire::core {

namespace {

// A turn sends at most 1 / turns_waiting of the bytes that wait at the port, but not less than a packet. The time that
// a message waits for the turn of another flow is then short compared with the time to send all waiting bytes. A larger
// value would be more exact and slower: 16, 64, 256 and 512 were compared (docs/decisions.md, 2026-11-24, "the turns of
// a port").
constexpr double turns_waiting = 256;

// Prefetch distances of serve_heads(), in chunks: a chunk is prefetched fetch_chunk chunks before it is served, its hop
// and its flow fetch_rest chunks before it is served. The values are not tuned.
constexpr std::size_t fetch_chunk = 12, fetch_rest = 6;

}  // namespace

std::uint64_t QueueNetwork::hash(const Key& key) {
  // This is the finaliser of splitmix64. It only spreads the entries of the hash table; no order depends on it.
  std::uint64_t x = (static_cast<std::uint64_t>(key.source) << 32 | key.destination) + key.flow * 0x9e3779b97f4a7c15ULL;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
  return x ^ x >> 31;
}

QueueNetwork::QueueNetwork(RunLoop& loop, const Topology& topology, QueueNetworkSpec spec, EndpointId period)
    : calendar_(loop.calendar()),
      topology_(topology),
      spec_(spec),
      period_(period == 0 ? topology.endpoints() : period),
      circle_({topology.endpoints()}) {
  MOIRE_INVARIANT(spec.chunk.value >= 1, "a chunk needs at least one byte");
  MOIRE_INVARIANT(spec.window >= 2, "a window below two chunks cannot keep a link busy");
  links_.reserve(topology.links().size());
  for (const NetworkLink& link : topology.links()) {
    MOIRE_INVARIANT(link.bandwidth.value > 0 && link.latency.ps >= 0, "link " + link.name + " has no capacity");
    links_.push_back({1e12 / link.bandwidth.value, link.latency, {}, {}, 0});
  }
  ports_.resize(links_.size());
  Time least = Time::max();
  for (const Link& link : links_) least = std::min(least, link.latency);
  lookahead_ = std::max(least, Time{1});
  loop.add(*this);
}

void QueueNetwork::send(const Message& message) {
  MOIRE_INVARIANT(message.bytes.value >= 1 && message.receiver != nullptr, "a message needs a byte and a receiver");
  // A switch sends only what it has received, so switches_send_ is set at the first message to a switch. From then on,
  // every link serves the chunks of switches and all other chunks in the order of their times (Port::heads).
  if (message.destination >= topology_.endpoints()) switches_send_ = true;
  MOIRE_INVARIANT(message.source < topology_.endpoints() || switches_send_, "a switch sends unasked");
  end_flows();
  injected_ = injected_ + message.bytes;
  const Key key{message.source, message.destination, message.flow};
  const Index index = flow_for(key);
  const Index pending = messages_.take();
  messages_[pending] = {message.payload, message.bytes.value, delivery_of({message.receiver, message.after}), none};
  Flow& flow = flows_[index];
  catch_up(flow.first.link, calendar_.now());
  ++flow.messages;
  if (flow.first_message == none) {
    flow.first_message = pending;
  } else {
    messages_[flow.last_message].next = pending;
  }
  flow.last_message = pending;
  ports_[flow.first.link].waiting += message.bytes.value;
  offer(index, calendar_.now(), offered_);
  list(flow.first.link);  // because a blocked flow is not in `offered_`
}

QueueNetwork::Index QueueNetwork::delivery_of(const Delivery& delivery) {
  const auto known = std::find(deliveries_.begin(), deliveries_.end(), delivery) - deliveries_.begin();
  if (static_cast<std::size_t>(known) == deliveries_.size()) deliveries_.push_back(delivery);
  return static_cast<Index>(known);
}

// Returns the open flow with this key, or a new flow.
QueueNetwork::Index QueueNetwork::flow_for(const Key& key) {
  const std::uint64_t hashed = hash(key);
  const Index open = open_flows_.find(hashed, [&](Index flow) { return flows_[flow].key == key; });
  if (open != none) return open;
  const Index index = flows_.take();
  open_flows_.insert(hashed, index);
  Flow& flow = flows_[index];
  flow.key = key;
  route_.clear();
  const bool one = topology_.routes(key.source, key.destination) == 1;
  topology_.route(key.source, key.destination, one ? key.flow : 0, route_);
  MOIRE_INVARIANT(!route_.empty(), "a network path needs at least one link");
  flow.first = hop_of(route_.front());
  return index;
}

QueueNetwork::Hop QueueNetwork::hop_of(LinkId id) const {
  const EndpointId home = topology_.home(id);
  if (home < period_) return {id, home};
  return {topology_.turned(id, topology_.endpoints() - home / period_ * period_), home};
}

void QueueNetwork::find_path(Index index) {
  Flow& flow = flows_[index];
  const Key& key = flow.key;
  flow.path = paths_.take();
  Path& path = paths_[flow.path];
  path.in_flight = 0;
  path.on_way = 0;
  path.blocked = path.ending = path.idle = false;
  route_.clear();
  const std::uint32_t routes = topology_.routes(key.source, key.destination);
  if (routes == 1) {
    topology_.route(key.source, key.destination, key.flow, route_);
  } else {
    path.spread = spreads_.take();
    spreads_[path.spread] = {.routes = routes};
    for (std::uint32_t route = 0; route < routes; ++route) topology_.route(key.source, key.destination, route, route_);
  }
  MOIRE_INVARIANT(route_.size() % routes == 0, "the routes of a flow have different lengths");
  path.length = static_cast<std::uint16_t>(route_.size() / routes);
  path.hops = std::make_unique<Hop[]>(route_.size());
  double latency = 0;
  double slowest = 0;
  Hop* hop = path.hops.get();
  for (const LinkId id : route_) {
    latency += static_cast<double>(links_[id].latency.ps);
    slowest = std::max(slowest, links_[id].ps_per_byte);
    if (period_ < topology_.endpoints() && topology_.turned(id, period_) == id)
      throw NotAlike(fmt::format("all endpoints share the link {}", topology_.links()[id].name));
    *hop++ = hop_of(id);
  }
  path.window = spec_.chunk.value * static_cast<double>(spec_.window) + latency / routes / slowest;
}

bool QueueNetwork::can_send(Index index, Time at) {
  const Flow& flow = flows_[index];
  if (flow.first_message == none) return false;
  if (flow.path == none) return true;
  Path& path = paths_[flow.path];
  if (path.in_flight >= path.window) arrived(path, at);
  if (path.in_flight < path.window) return true;
  block(index);
  return false;
}

void QueueNetwork::offer(Index index, Time at, std::vector<Offer>& offers) {
  Flow& flow = flows_[index];
  if (flow.ready || !can_send(index, at)) return;
  flow.ready = true;
  const auto [source, destination] = seen(flow.first, flow);
  offers.push_back({flow.first.link, source, destination, flow.key.flow, index});
}

bool QueueNetwork::Offer::operator<(const Offer& o) const {
  return std::tie(port, source, destination, flow) < std::tie(o.port, o.source, o.destination, o.flow);
}

std::pair<EndpointId, EndpointId> QueueNetwork::seen(const Hop& hop, const Flow& flow) const {
  const EndpointId all = topology_.endpoints();
  const auto from_home = [&](EndpointId end) {
    if (end >= all) return end;  // a switch
    return circle_.minus(end, hop.home);
  };
  return {from_home(flow.key.source), from_home(flow.key.destination)};
}

void QueueNetwork::enqueue(Port& port, Index index, Time at) {
  if (!port.has_flow()) port.next = std::max(port.free, at);
  flows_[index].next_ready = none;
  if (port.first == none) {
    port.first = index;
  } else {
    flows_[port.last].next_ready = index;
  }
  port.last = index;
}

// Adds the flows of a port whose credits return at time `at` to `offers`.
void QueueNetwork::unblock(Port& port, Time at, std::vector<Offer>& offers) {
  while (!port.blocked.empty() && port.blocked.front().until == at) {
    const Index index = port.blocked.front().flow;
    port.blocked.erase(port.blocked.begin());
    paths_[flows_[index].path].blocked = false;
    offer(index, at, offers);
  }
}

void QueueNetwork::queue_up(std::vector<Offer>& offers, Time at) {
  std::sort(offers.begin(), offers.end());
  for (const Offer& flow : offers) enqueue(ports_[flow.port], flow.index, at);
}

void QueueNetwork::catch_up(LinkId id, Time until) {
  Port& port = ports_[id];
  while (true) {
    const Time next = port.due();
    if (next >= until) return;
    if (!port.blocked.empty() && port.blocked.front().until == next) {
      returning_.clear();
      unblock(port, next, returning_);
      queue_up(returning_, next);
    } else if (port.has_flow() && port.next == next) {
      turn(id);
    } else {
      const Head head = port.heads[port.served_heads++];
      if (port.served_heads == port.heads.size()) {
        port.heads.clear();
        port.served_heads = 0;
      }
      forward(head.chunk, head.at);
    }
  }
}

Time QueueNetwork::Port::due() const {
  Time next = has_flow() ? this->next : Time::max();
  if (!blocked.empty()) next = std::min(next, blocked.front().until);
  if (!heads.empty()) next = std::min(next, heads[served_heads].at);
  return next;
}

void QueueNetwork::list(LinkId id) {
  Port& port = ports_[id];
  const Time next = port.due();
  if (next == Time::max()) return;
  const BatchNumber number = batch_of(std::max(next, calendar_.now())) + 1;
  if (port.listed <= number) return;
  port.listed = number;
  batch(number).ports.push_back(id);
}

QueueNetwork::Batch& QueueNetwork::batch(BatchNumber number) {
  number = std::max(number, (calendar_.now().ps + lookahead_.ps - 1) / lookahead_.ps);
  const auto place = batches_.lower_bound(number);
  if (place != batches_.end() && place->first == number) return place->second;
  calendar_.schedule(lookahead_ * number, *this, 0);
  if (spare_.empty()) return batches_.emplace_hint(place, number, Batch{})->second;
  auto node = std::move(spare_.back());
  spare_.pop_back();
  node.key() = number;
  return batches_.insert(place, std::move(node))->second;
}

void QueueNetwork::fire(std::uint64_t) { begins_ = true; }

void QueueNetwork::settle() {
  const Time now = calendar_.now();
  const bool begins = std::exchange(begins_, false);
  if (begins) compute_turns();
  if (!offered_.empty()) {
    const std::size_t sent = offered_.size();
    for (std::size_t i = 0; i < sent; ++i) unblock(ports_[offered_[i].port], now, offered_);
    queue_up(offered_, now);
    for (const Offer& flow : offered_) list(flow.port);
    offered_.clear();
  }
  if (begins) serve_heads();
  for (const Told& told : told_) told.receiver->arrives(told.payload, told.at);
  told_.clear();
}

// Computes the turns of the batch that ends now.
void QueueNetwork::compute_turns() {
  const auto& [number, batch] = *batches_.begin();
  for (const LinkId port : batch.ports) {
    if (ports_[port].listed != number) continue;  // an earlier batch has computed this port's turns
    ports_[port].listed = no_batch;
    catch_up(port, calendar_.now());
    list(port);
  }
}

// Serves the heads that reach a link in the batch that begins now.
void QueueNetwork::serve_heads() {
  const auto first = batches_.begin();
  std::vector<Head>& heads = first->second.heads;
  while (!heads.empty()) {
    sort_by_link(heads);
    heads.clear();
    for (std::size_t i = 0; i < heads_.size(); ++i) {
      if (i + fetch_chunk < heads_.size()) __builtin_prefetch(&chunks_[heads_[i + fetch_chunk].chunk]);
      if (i + fetch_rest < heads_.size()) {
        const Chunk& soon = chunks_[heads_[i + fetch_rest].chunk];
        __builtin_prefetch(soon.path + soon.hop);
        if (soon.hop + 1 == soon.hops) __builtin_prefetch(&flows_[soon.flow]);
      }
      if (switches_send_) {
        ports_[heads_[i].link].heads.push_back(heads_[i]);
        list(heads_[i].link);
      } else {
        forward(heads_[i].chunk, heads_[i].at);
      }
    }
  }
  first->second.ports.clear();
  spare_.push_back(batches_.extract(first));
}

// Copies `heads` to heads_, grouped by link. Within a link they are sorted by time, then by their endpoints.
void QueueNetwork::sort_by_link(const std::vector<Head>& heads) {
  reached_.clear();
  for (const Head& head : heads)
    if (links_[head.link].heads++ == 0) reached_.push_back(head.link);
  std::uint32_t end = 0;
  for (const LinkId link : reached_) end += std::exchange(links_[link].heads, end);
  heads_.resize(heads.size());
  for (const Head& head : heads) heads_[links_[head.link].heads++] = head;
  const auto ends = [this](const Head& head) {
    const Chunk& chunk = chunks_[head.chunk];
    const Flow& flow = flows_[chunk.flow];
    return std::pair{seen(chunk.path[chunk.hop], flow), flow.key.flow};
  };
  auto begin = heads_.begin();
  for (const LinkId link : reached_) {
    const auto last = heads_.begin() + std::exchange(links_[link].heads, 0);
    // The sort is stable, because chunks of one flow that took several routes may reach a link in the same picosecond.
    if (last - begin > 1)
      std::stable_sort(begin, last,
                       [&](const Head& a, const Head& b) { return a.at != b.at ? a.at < b.at : ends(a) < ends(b); });
    begin = last;
  }
}

void QueueNetwork::turn(LinkId id) {
  Port& port = ports_[id];
  const Time now = port.next;
  if (port.served != none) enqueue(port, std::exchange(port.served, none), now);
  const Index index = port.first;
  Flow& flow = flows_[index];
  port.first = flow.next_ready;

  if (flow.path == none) {
    end_flows();
    find_path(index);
  }
  Path& path = paths_[flow.path];
  const Index taken = chunks_.take();
  Chunk& chunk = chunks_[taken];
  Pending& pending = messages_[flow.first_message];
  const double bytes = std::min(turn_of(port), pending.left);
  chunk = {path.hops.get(), bytes, now, index, none, 0, path.length};
  pending.left -= bytes;
  port.waiting -= bytes;
  if (path.spread != none) {
    Spread& spread = spreads_[path.spread];
    chunk.path += spread.next * path.length;
    spread.next = (spread.next + 1) % spread.routes;
    chunk.message = flow.first_message;
    if (spread.untold.empty() || spread.untold.back().message != chunk.message)
      spread.untold.push_back({chunk.message});
    ++spread.untold.back().on_way;
  }
  if (pending.left <= 0) {
    chunk.message = flow.first_message;
    flow.first_message = pending.next;
  }
  path.in_flight += bytes;
  ++path.on_way;
  forward(taken, now);
  port.next = port.free = links_[id].free;
  // The flow queues up again behind the flows that arrive while its chunk is being sent.
  flow.ready = can_send(index, now);
  if (flow.ready) port.served = index;
}

double QueueNetwork::turn_of(const Port& port) const {
  double turn = spec_.chunk.value;
  while (turn > spec_.packet.value && turns_waiting * turn > port.waiting) turn /= 2;
  return turn;
}

Time QueueNetwork::pass(Chunk& chunk, Time at) {
  Link& link = links_[chunk.path[chunk.hop++].link];
  const Time start = std::max(at, link.free);
  const Time service = Time::from_ps(std::ceil(chunk.bytes * link.ps_per_byte));
  link.free = start + service;
  link.busy += service;
  link.carried += chunk.bytes;
  chunk.tail = std::max(link.free, chunk.tail) + link.latency;
  ++chunk_hops_;
  return start + link.latency;
}

void QueueNetwork::forward(Index index, Time at) {
  Chunk& chunk = chunks_[index];
  const Time head = pass(chunk, at);
  if (chunk.hop == chunk.hops) return pass_last(index);
  batch(batch_of(head)).heads.push_back({head, chunk.path[chunk.hop].link, index});
}

// Records the arrival of a chunk that has passed its last link, so that its arrival time (`tail`) is known.
void QueueNetwork::pass_last(Index index) {
  const Chunk chunk = chunks_[index];
  chunks_.give_back(index);
  Path& path = paths_[flows_[chunk.flow].path];
  --path.on_way;
  arrived(path, settled());
  const Index arrival = arrivals_.take();
  Index before = none, after = none;
  if (path.spread == none) {
    before = path.first_arriving == none ? none : path.last_arriving;
  } else {
    after = path.first_arriving;
    for (; after != none && arrivals_[after].at <= chunk.tail; after = arrivals_[after].next) before = after;
  }
  arrivals_[arrival] = {chunk.tail, chunk.bytes, after};
  (before == none ? path.first_arriving : arrivals_[before].next) = arrival;
  if (after == none) path.last_arriving = arrival;
  delivered_ = delivered_ + Bytes{chunk.bytes};
  reconsider(chunk.flow);
  if (path.spread != none) return pass_last_of_several(chunk);
  if (chunk.message != none) end_message(chunk.flow, chunk.message, chunk.tail);
  if (path.on_way == 0 && !path.idle && flows_[chunk.flow].messages > 0) {
    path.idle = true;
    idle_.push_back({chunk.flow, chunk.tail + lookahead_ * 2});
  }
}

void QueueNetwork::end_message(Index of, Index index, Time at) {
  const Pending message = messages_[index];
  messages_.give_back(index);
  Flow& flow = flows_[of];
  Path& path = paths_[flow.path];
  --flow.messages;
  if (flow.messages == 0 && !path.ending) {
    path.ending = true;
    ending_.push_back({of, at});
  }
  // If links have no latency, a chunk may be processed here a few picoseconds after its arrival time.
  const Delivery& delivery = deliveries_[message.delivery];
  told_.push_back({delivery.receiver, message.payload, std::max(at, calendar_.now()) + delivery.after});
}

// Does the rest of pass_last() for a flow with several routes, whose messages end in the order in which they were sent.
void QueueNetwork::pass_last_of_several(const Chunk& chunk) {
  Spread& spread = spreads_[paths_[flows_[chunk.flow].path].spread];
  const auto own = std::find_if(spread.untold.begin(), spread.untold.end(),
                                [&](const Spread::Untold& one) { return one.message == chunk.message; });
  --own->on_way;
  own->latest = std::max(own->latest, chunk.tail);
  while (!spread.untold.empty()) {
    const Spread::Untold first = spread.untold.front();
    if (first.on_way > 0 || messages_[first.message].left > 0) return;
    spread.untold.pop_front();
    spread.told = std::max(spread.told, first.latest);
    end_message(chunk.flow, first.message, spread.told);
  }
}

void QueueNetwork::block(Index index) {
  const Flow& flow = flows_[index];
  Path& path = paths_[flow.path];
  if (path.blocked || path.first_arriving == none) return;
  path.blocked = true;
  std::vector<Blocked>& blocked = ports_[flow.first.link].blocked;
  const Time until = arrivals_[path.first_arriving].at;
  const auto later = std::upper_bound(blocked.begin(), blocked.end(), until,
                                      [](Time at, const Blocked& one) { return at < one.until; });
  blocked.insert(later, {until, index});
}

// Called when a chunk of a flow has passed its last link. If the flow waits for credits, the time at which they return
// may be known now.
void QueueNetwork::reconsider(Index index) {
  const Flow& flow = flows_[index];
  if (flow.first_message == none || flow.ready) return;
  block(index);
  list(flow.first.link);
}

void QueueNetwork::arrived(Path& path, Time until) {
  while (path.first_arriving != none && arrivals_[path.first_arriving].at <= until) {
    const Arrival& arrival = arrivals_[path.first_arriving];
    path.in_flight -= arrival.bytes;
    arrivals_.give_back(path.first_arriving);
    path.first_arriving = arrival.next;
  }
}

void QueueNetwork::end_flows() {
  while (!idle_.empty() && idle_.front().at <= calendar_.now()) {
    Flow& flow = flows_[idle_.front().flow];
    idle_.pop_front();
    if (flow.path == none) continue;
    Path& path = paths_[flow.path];
    path.idle = false;
    if (path.ending || path.blocked || path.on_way > 0 || path.spread != none) continue;
    arrived(path, settled());
    if (path.first_arriving == none) paths_.give_back(std::exchange(flow.path, none));
  }
  while (!ending_.empty() && ending_.front().at <= calendar_.now()) {
    const Index index = ending_.front().flow;
    ending_.pop_front();
    Flow& flow = flows_[index];
    Path& path = paths_[flow.path];
    path.ending = false;
    if (flow.messages > 0) continue;  // the flow has new messages
    arrived(path, calendar_.now());
    if (path.first_arriving != none) {
      path.ending = true;
      ending_.push_back({index, arrivals_[path.last_arriving].at});
      continue;
    }
    open_flows_.erase(hash(flow.key), index);
    if (path.spread != none) spreads_.give_back(std::exchange(path.spread, none));
    paths_.give_back(std::exchange(flow.path, none));
    flows_.give_back(index);
  }
}

std::vector<LinkUse> QueueNetwork::use() const {
  std::vector<LinkUse> result;
  result.reserve(links_.size());
  for (const Link& link : links_) {
    // Deduct the service that is booked after now. From now to the end of its bookings, a link is busy without gaps.
    // At the end of a run nothing is deducted: the last arrivals need no events, so the clock may show a time before
    // them.
    const Time ahead = calendar_.empty() ? Time{} : std::max(Time{}, link.free - calendar_.now());
    result.push_back({Bytes{link.carried - static_cast<double>(ahead.ps) / link.ps_per_byte}, link.busy - ahead});
  }
  return result;
}

}  // namespace moire::core
