// What workgroups send: flags, puts, and copies by a host thread, from the step that sends until the arrival.
#include <fmt/format.h>

#include <algorithm>

#include "models/hardware/replay/replay.hpp"
#include "sim/core/invariant.hpp"
#include "sim/core/pool.hpp"

namespace moire::replay {

using program::Phase;

bool Replay::gate_opens(const Phase& phase) {
  if (phase.gate == program::no_flag) return true;
  flags_.raise(phase.gate);
  return flags_.value(phase.gate) == phase.gate_target;
}

std::uint32_t Replay::new_flight(const Flight& flight) {
  const std::uint32_t id = core::take(flights_, free_flights_);
  flights_[id] = flight;
  return id;
}

Time Replay::send(std::uint32_t id, const Phase& phase, Time now) {
  Workgroup& wg = workgroups_[id];
  const Rank rank = runs_[wg.run].rank;
  const bool by_nic = phase.kind == Phase::Kind::put && (phase.peer != rank || phase.summed);
  const bool from_relay = phase.relay != program::no_rank && machine_.reach().stores(rank, phase.relay);
  const program::FlagRef flag = by_nic ? simulated_flag(wg, phase) : phase.flag;
  const bool by_host = by_nic && !phase.summed && phase.proxied && machine_.reach().stores(rank, phase.peer);
  // Usually the arrival only raises its flag. A Flight is recorded only for observers and for copies by the host
  // thread.
  std::uint64_t arrival = pack(Event::raise, flag);
  if (by_host || observer_ != nullptr) {
    arrival =
        pack(Event::delivered, new_flight({rank, phase.peer, flag, by_nic && phase.proxied ? program::no_cu : wg.cu,
                                           phase.kind == Phase::Kind::put ? phase.bytes : Bytes{}, now,
                                           from_relay ? phase.relay : program::no_rank, by_host, phase.summed}));
  }
  if (by_host) {
    result_.traffic.scale_up_bytes = result_.traffic.scale_up_bytes + phase.bytes;
    visit(rank);
    visit(phase.peer);
    host_copies_[rank].push_back(
        {arrival, now + phase.duration - machine_.gpu().host.event_pair, program_.family(runs_[wg.run].queue)});
    if (host_copies_[rank].size() == 1) start_host_copy(rank);
    return now;
  }
  if (by_nic) {
    ++result_.traffic.puts;
    result_.traffic.put_bytes = result_.traffic.put_bytes + phase.bytes;
    const bool to_relay = phase.relay != program::no_rank && !from_relay;
    return puts_.put({.source = from_relay ? phase.relay : rank,
                      .destination = to_relay ? phase.relay : phase.peer,
                      .sender = rank,
                      .receiver = phase.peer,
                      .queue = program_.family(runs_[wg.run].queue),
                      .queue_pair = phase.queue_pair,
                      .bytes = phase.bytes,
                      .proxied = phase.proxied,
                      .summed = phase.summed,
                      .after = from_relay ? machine_.gpu().port.store_latency : Time{},
                      .told = this,
                      .payload = arrival});
  }
  MOIRE_INVARIANT(phase.peer == rank || machine_.reach().stores(rank, phase.peer), "a signal leaves its node");
  runs_[wg.run].stores_to_peers |= phase.peer != rank;
  const Time latency = phase.peer == rank ? machine_.gpu(rank).l2.hit_latency : machine_.gpu().port.store_latency;
  Time raised = now + phase.duration;
  if (phase.in_turn) {
    now = std::max(now, rest_of(wg).raising);
    raised = now + phase.duration;
    if (phase.duration.ps > 0) raised = std::max(raised, fenced_from(runs_[wg.run], now));
    rest_of(wg).raising = raised;
  }
  arrives(arrival, raised + latency);
  return now;
}

// Starts the next copy of a rank's host thread. These copies have a hardware queue of their own, so each copy begins
// after the end of the copy before it.
void Replay::start_host_copy(Rank rank) {
  const HostCopy& copy = host_copies_[rank].front();
  const Flight& flight = flights_[copy.flight()];
  copies_.submit({.copy = {.rank = rank, .peer = flight.destination, .bytes = flight.bytes, .queue = copy.queue},
                  .stream = static_cast<std::uint32_t>(orders_.size()),
                  .ready = copy.ready,
                  .sink = this,
                  .payload = copy.arrival});
}

void Replay::end_host_copy(const Flight& flight) {
  std::deque<HostCopy>& copies = host_copies_[flight.source];
  if (observer_ != nullptr) {
    const part::Copies::Finished done =
        copies_.finished({.rank = flight.source, .peer = flight.destination, .queue = copies.front().queue});
    observer_->copy({flight.source, done.engine, flight.destination, flight.bytes, "copy of the host thread",
                     done.begin, machine_.loop().now()});
  }
  copies.pop_front();
  if (!visits_.empty()) {
    --visits_[flight.source];
    --visits_[flight.destination];
  }
  if (!copies.empty()) start_host_copy(flight.source);
}

void Replay::arrive(std::uint32_t id) {
  const Flight flight = flights_[id];
  free_flights_.push_back(id);
  if (flight.copied) {
    end_host_copy(flight);
    flags_.raise(flight.flag);
    return;
  }
  const bool stores = machine_.reach().stores(flight.source, flight.destination);
  const std::string path =
      flight.source == flight.destination && !flight.summed ? "local"
      : flight.bytes.value == 0 && stores
          ? "scale-up"
          : fmt::format("NIC {}", puts_.endpoint_of(flight.relay == program::no_rank ? flight.source : flight.relay));
  observer_->put({flight.source, flight.destination, flight.cu, flight.bytes, flight.flag, path, flight.begin,
                  machine_.loop().now(), flight.relay});
}

}  // namespace moire::replay
