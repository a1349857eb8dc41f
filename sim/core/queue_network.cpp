// Over 400 lines: the whole way of a message, from its flow to its arrival.
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

// A turn is at most the 256th part of what waits at the port, so that the time a message waits for others' turns is
// small beside the time it waits for their bytes. More would be more exact and slower: the 16th, 64th, 256th and 512th
// part were compared (docs/decisions.md, 2026-11-24, "the turns of a port").
constexpr double turns_waiting = 256;

enum class Step : std::uint64_t { turn, arrive, arrived };

std::uint64_t pack(Step step, std::uint32_t index) { return static_cast<std::uint64_t>(step) << 32 | index; }

}  // namespace

std::size_t QueueNetwork::hash(const Key& key) {
  // The finaliser of splitmix64. It only spreads hash table entries; no order depends on it.
  std::uint64_t x = (static_cast<std::uint64_t>(key.source) << 32 | key.destination) + key.flow * 0x9e3779b97f4a7c15ULL;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
  return x ^ x >> 31;
}

std::size_t QueueNetwork::place_of(const Key& key) const {
  const std::size_t last = table_.size() - 1;
  std::size_t place = hash(key) & last;
  while (table_[place] != none && !(flows_[table_[place]].key == key)) place = (place + 1) & last;
  return place;
}

void QueueNetwork::grow_table() {
  const std::vector<Index> before =
      std::exchange(table_, std::vector<Index>(std::max<std::size_t>(64, 2 * table_.size()), none));
  for (const Index flow : before)
    if (flow != none) table_[place_of(flows_[flow].key)] = flow;
}

// Deletion from linear probing: later entries that would become unreachable move up.
void QueueNetwork::forget(const Key& key) {
  const std::size_t last = table_.size() - 1;
  std::size_t hole = place_of(key);
  table_[hole] = none;
  --open_flows_;
  for (std::size_t place = (hole + 1) & last; table_[place] != none; place = (place + 1) & last) {
    const std::size_t wanted = hash(flows_[table_[place]].key) & last;
    if (((place - wanted) & last) < ((place - hole) & last)) continue;
    table_[hole] = std::exchange(table_[place], none);
    hole = place;
  }
}

QueueNetwork::QueueNetwork(RunLoop& loop, const Topology& topology, QueueNetworkSpec spec, EndpointId period)
    : calendar_(loop.calendar()),
      topology_(topology),
      spec_(spec),
      period_(period == 0 ? topology.endpoints() : period) {
  MOIRE_INVARIANT(spec.chunk.value >= 1, "a chunk needs at least one byte");
  MOIRE_INVARIANT(spec.window >= 2, "a window below two chunks cannot keep a link busy");
  links_.reserve(topology.links().size());
  for (const NetworkLink& link : topology.links()) {
    MOIRE_INVARIANT(link.bandwidth.value > 0 && link.latency.ps >= 0, "link " + link.name + " has no capacity");
    links_.push_back({1e12 / link.bandwidth.value, link.latency, {}, {}, 0});
  }
  ports_.resize(links_.size());
  loop.add(*this);
}

void QueueNetwork::send(const Message& message) {
  MOIRE_INVARIANT(message.bytes.value >= 1 && message.receiver != nullptr, "a message needs a byte and a receiver");
  end_flows();
  injected_ = injected_ + message.bytes;
  const Key key{message.source, message.destination, message.flow};
  const Index index = flow_for(key);
  const Index pending = messages_.take();
  messages_[pending] = {message.receiver, message.payload, message.after, message.bytes.value, index, none};
  Flow& flow = flows_[index];
  ++flow.messages;
  if (flow.first_message == none) {
    flow.first_message = pending;
  } else {
    messages_[flow.last_message].next = pending;
  }
  flow.last_message = pending;
  ports_[flow.first.link].waiting += message.bytes.value;
  offer(index);
}

// The open flow with this key, or a new one.
QueueNetwork::Index QueueNetwork::flow_for(const Key& key) {
  if (2 * open_flows_ >= table_.size()) grow_table();
  const std::size_t place = place_of(key);
  if (table_[place] != none) return table_[place];
  const Index index = table_[place] = flows_.take();
  ++open_flows_;
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
  path.hops.clear();
  path.in_flight = 0;
  path.tells_arrival = false;
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
  double latency = 0;
  double slowest = 0;
  for (const LinkId id : route_) {
    latency += static_cast<double>(links_[id].latency.ps);
    slowest = std::max(slowest, links_[id].ps_per_byte);
    if (period_ < topology_.endpoints() && topology_.turned(id, period_) == id)
      throw NotAlike(fmt::format("all endpoints share the link {}", topology_.links()[id].name));
    path.hops.push_back(hop_of(id));
  }
  path.window = spec_.chunk.value * static_cast<double>(spec_.window) + latency / routes / slowest;
}

bool QueueNetwork::can_send(Index index) {
  const Flow& flow = flows_[index];
  if (flow.first_message == none) return false;
  if (flow.path == none) return true;
  Path& path = paths_[flow.path];
  if (path.in_flight >= path.window) arrived(index);
  if (path.in_flight < path.window) return true;
  tell_arrival(index);
  return false;
}

void QueueNetwork::offer(Index index) {
  Flow& flow = flows_[index];
  if (flow.ready || !can_send(index)) return;
  flow.ready = true;
  offered_.push_back(at(flow.first, flow, index));
}

void QueueNetwork::enqueue(Port& port, Index index) {
  flows_[index].next_ready = none;
  if (port.first == none) {
    port.first = index;
  } else {
    flows_[port.last].next_ready = index;
  }
  port.last = index;
}

// Schedules the port's next turn, at the end of the present one.
void QueueNetwork::wake(LinkId id) {
  Port& port = ports_[id];
  if (port.scheduled || (port.first == none && port.served == none)) return;
  port.scheduled = true;
  if (port.free <= calendar_.now()) {
    due_.push_back(id);
  } else {
    calendar_.schedule(port.free, *this, pack(Step::turn, id));
  }
}

void QueueNetwork::fire(std::uint64_t payload) {
  const auto index = static_cast<std::uint32_t>(payload);
  switch (static_cast<Step>(payload >> 32)) {
    case Step::turn:
      due_.push_back(index);
      return;
    case Step::arrive: {
      const Chunk& chunk = chunks_[index];
      arrived_.push_back(at(chunk.path[chunk.hop], flows_[chunk.flow], index));
      return;
    }
    case Step::arrived:
      if (flows_[index].path != none) paths_[flows_[index].path].tells_arrival = false;
      return offer(index);
  }
}

void QueueNetwork::fires_next(std::uint64_t payload) const {
  const auto index = static_cast<std::uint32_t>(payload);
  const auto step = static_cast<Step>(payload >> 32);
  if (step == Step::arrive) __builtin_prefetch(&chunks_[index]);
}

bool QueueNetwork::Arrival::operator<(const Arrival& o) const {
  return std::tie(link, source, destination, flow) < std::tie(o.link, o.source, o.destination, o.flow);
}

QueueNetwork::Arrival QueueNetwork::at(const Hop& hop, const Flow& flow, Index index) const {
  const EndpointId all = topology_.endpoints();
  const auto seen = [&](EndpointId end) {
    if (end >= all) return end;  // a switch
    return end >= hop.home ? end - hop.home : end + all - hop.home;
  };
  return {hop.link, seen(flow.key.source), seen(flow.key.destination), flow.key.flow, index};
}

void QueueNetwork::settle() {
  if (offered_.empty() && due_.empty() && arrived_.empty()) return;
  // Stable, because two chunks of one flow can arrive in the same picosecond if their service is shorter than that; the
  // one that was sent first stays first.
  std::stable_sort(offered_.begin(), offered_.end());
  for (const Arrival& flow : offered_) {
    enqueue(ports_[flow.link], flow.index);
    wake(flow.link);
  }
  offered_.clear();
  std::sort(due_.begin(), due_.end());
  for (std::size_t i = 0; i < due_.size(); ++i) inject(due_[i]);  // inject() may append to due_
  due_.clear();
  std::stable_sort(arrived_.begin(), arrived_.end());
  for (const Arrival& chunk : arrived_) forward(chunk.index);
  arrived_.clear();
}

void QueueNetwork::inject(LinkId id) {
  Port& port = ports_[id];
  port.scheduled = false;
  if (port.served != none) enqueue(port, std::exchange(port.served, none));
  const Index index = port.first;
  Flow& flow = flows_[index];
  port.first = flow.next_ready;

  if (flow.path == none) find_path(index);
  Path& path = paths_[flow.path];
  const Index taken = chunks_.take();
  Chunk& chunk = chunks_[taken];
  Pending& pending = messages_[flow.first_message];
  const double bytes = std::min(turn_of(port), pending.left);
  chunk = {
      path.hops.data(), bytes, calendar_.now(), index, none, none, 0, static_cast<std::uint16_t>(path.hops.size())};
  pending.left -= bytes;
  port.waiting -= bytes;
  if (path.spread != none) {
    Spread& spread = spreads_[path.spread];
    chunk.hops = static_cast<std::uint16_t>(path.hops.size() / spread.routes);
    chunk.path += spread.next * chunk.hops;
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
  forward(taken);
  port.free = links_[id].free;
  // The flow queues up again behind those that arrive while its chunk is being sent.
  flow.ready = can_send(index);
  if (flow.ready) port.served = index;
  wake(id);
}

double QueueNetwork::turn_of(const Port& port) const {
  double turn = spec_.chunk.value;
  while (turn > spec_.packet.value && turns_waiting * turn > port.waiting) turn /= 2;
  return turn;
}

Time QueueNetwork::pass(Chunk& chunk) {
  Link& link = links_[chunk.path[chunk.hop++].link];
  const Time start = std::max(calendar_.now(), link.free);
  const Time service = Time::from_ps(std::ceil(chunk.bytes * link.ps_per_byte));
  link.free = start + service;
  link.busy += service;
  link.carried += chunk.bytes;
  chunk.tail = std::max(link.free, chunk.tail) + link.latency;
  ++chunk_hops_;
  return start + link.latency;
}

void QueueNetwork::forward(Index index) {
  Chunk& chunk = chunks_[index];
  const Time head = pass(chunk);
  if (chunk.hop < chunk.hops) {
    calendar_.schedule(head, *this, pack(Step::arrive, index));
  } else {
    pass_last(index);
  }
}

// The arrival time is known at this point. An event is scheduled only if the flow waits for it.
void QueueNetwork::pass_last(Index index) {
  const Chunk& chunk = chunks_[index];
  const Index of = chunk.flow;
  const Flow& flow = flows_[of];
  Path& path = paths_[flow.path];
  if (path.spread != none) return pass_last_of_several(index);
  (path.first_arriving == none ? path.first_arriving : chunks_[path.last_arriving].next) = index;
  path.last_arriving = index;
  delivered_ = delivered_ + Bytes{chunk.bytes};
  if (flow.first_message != none && !flow.ready) tell_arrival(of);
  if (chunk.message != none) end_message(chunk.message, chunk.tail);
}

void QueueNetwork::end_message(Index index, Time at) {
  const Pending message = messages_[index];
  messages_.give_back(index);
  Flow& flow = flows_[message.flow];
  if (--flow.messages == 0 && !paths_[flow.path].ending) {
    paths_[flow.path].ending = true;
    ending_.push_back({message.flow, at});
  }
  message.receiver->arrives(message.payload, at + message.after);
}

// Chunks of several routes are kept in the order in which they arrive, and messages end in the order in which they were
// sent.
void QueueNetwork::pass_last_of_several(Index index) {
  Chunk& chunk = chunks_[index];
  const Flow& flow = flows_[chunk.flow];
  Path& path = paths_[flow.path];
  Index before = none, after = path.first_arriving;
  for (; after != none && chunks_[after].tail <= chunk.tail; after = chunks_[after].next) before = after;
  (before == none ? path.first_arriving : chunks_[before].next) = index;
  chunk.next = after;
  if (after == none) path.last_arriving = index;
  delivered_ = delivered_ + Bytes{chunk.bytes};
  if (flow.first_message != none && !flow.ready) tell_arrival(chunk.flow);
  Spread& spread = spreads_[path.spread];
  const auto own = std::find_if(spread.untold.begin(), spread.untold.end(),
                                [&](const Spread::Untold& one) { return one.message == chunk.message; });
  --own->on_way;
  own->latest = std::max(own->latest, chunk.tail);
  while (!spread.untold.empty()) {
    const Spread::Untold first = spread.untold.front();
    if (first.on_way > 0 || messages_[first.message].left > 0) return;
    spread.untold.pop_front();
    spread.told = std::max(spread.told, first.latest);
    end_message(first.message, spread.told);
  }
}

void QueueNetwork::tell_arrival(Index index) {
  Path& path = paths_[flows_[index].path];
  if (path.tells_arrival || path.first_arriving == none) return;
  path.tells_arrival = true;
  calendar_.schedule(std::max(calendar_.now(), chunks_[path.first_arriving].tail), *this, pack(Step::arrived, index));
}

// Chunks of a flow are kept in the order in which they arrive.
void QueueNetwork::arrived(Index index) {
  Path& path = paths_[flows_[index].path];
  while (path.first_arriving != none && chunks_[path.first_arriving].tail <= calendar_.now()) {
    const Chunk& chunk = chunks_[path.first_arriving];
    path.in_flight -= chunk.bytes;
    chunks_.give_back(path.first_arriving);
    path.first_arriving = chunk.next;
  }
}

void QueueNetwork::end_flows() {
  while (!ending_.empty() && ending_.front().at <= calendar_.now()) {
    const Index index = ending_.front().flow;
    ending_.pop_front();
    Flow& flow = flows_[index];
    Path& path = paths_[flow.path];
    path.ending = false;
    arrived(index);
    if (flow.messages > 0) continue;  // it has new ones
    if (path.first_arriving != none) {
      path.ending = true;
      ending_.push_back({index, chunks_[path.last_arriving].tail});
      continue;
    }
    forget(flow.key);
    if (path.spread != none) spreads_.give_back(std::exchange(path.spread, none));
    paths_.give_back(std::exchange(flow.path, none));
    flows_.give_back(index);
  }
}

std::vector<LinkUse> QueueNetwork::use() const {
  std::vector<LinkUse> result;
  result.reserve(links_.size());
  for (const Link& link : links_) {
    // Deduct what is booked after now, unless nothing happens any more. A link is busy without gaps from now to the end
    // of its bookings.
    const Time ahead = calendar_.empty() ? Time{} : std::max(Time{}, link.free - calendar_.now());
    result.push_back({Bytes{link.carried - static_cast<double>(ahead.ps) / link.ps_per_byte}, link.busy - ahead});
  }
  return result;
}

}  // namespace moire::core
