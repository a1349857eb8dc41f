// Workgroups: from the dispatcher's turn through their phases to retirement.
#include <fmt/format.h>

#include <algorithm>

#include "models/replay/replay.hpp"
#include "sim/core/invariant.hpp"

namespace moire::models::replay {

using program::Phase;

void Replay::request_turn(Rank rank) {
  Gpu& gpu = *gpus_[rank];
  if (gpu.turn_scheduled || !gpu.dispatcher.pending()) return;
  gpu.turn_scheduled = true;
  machine_.loop().calendar().schedule(std::max(gpu.next_turn, machine_.loop().now()), *this, pack(Event::dispatch, rank));
}

void Replay::dispatch(Rank rank) {
  Gpu& gpu = *gpus_[rank];
  gpu.turn_scheduled = false;
  placed_.clear();
  gpu.dispatcher.place(placed_);
  if (placed_.empty()) return;  // full: a retiring workgroup asks for the next turn
  const Time now = machine_.loop().now();
  gpu.next_turn = now + machine_.gpu().compute.launch_interval;
  const std::vector<cu::Placement> placed = placed_;
  for (const cu::Placement& placement : placed) {
    std::uint32_t id;
    if (free_workgroups_.empty()) {
      id = static_cast<std::uint32_t>(workgroups_.size());
      workgroups_.emplace_back();
    } else {
      id = free_workgroups_.back();
      free_workgroups_.pop_back();
    }
    workgroups_[id] = {};
    workgroups_[id].run = placement.grid;
    workgroups_[id].number = placement.workgroup;
    workgroups_[id].cu = placement.cu;
    ++runs_[placement.grid].started;
    ++result_.workgroups;
    go_on(id);
  }
  request_turn(rank);
}

// Walks through the workgroup's steps until one takes time.
void Replay::go_on(std::uint32_t id) {
  const Time now = machine_.loop().now();
  tell_phase_end(id);
  while (true) {
    Workgroup& wg = workgroups_[id];
    const KernelRun& run = runs_[wg.run];
    Phase phase;
    if (!run.kernel->body->phase(run.rank, wg.number, wg.step++, phase)) {
      retire(id);
      return;
    }
    wg.doing = phase.kind;
    wg.since = now;
    const std::uint64_t resume = pack(Event::workgroup, id);
    switch (phase.kind) {
      case Phase::Kind::nothing:
        break;
      case Phase::Kind::work:
        if (phase.amount <= 0) break;
        wg.shape = phase.shape;
        phases_.start(id, run.rank, wg.cu, run.first_shape + phase.shape, phase.peer, phase.amount, *this, resume);
        return;
      case Phase::Kind::delay:
        if (phase.duration.ps <= 0) break;
        machine_.loop().calendar().schedule(now + phase.duration, *this, resume);
        return;
      case Phase::Kind::wait:
        wg.flag = phase.flag;
        wg.target = phase.target;
        phases_.leave(id);
        flags_.wait(phase.flag, phase.target, machine_.gpu().l2.hit_latency, *this, resume);
        return;
      case Phase::Kind::signal:
        if (gate_opens(phase)) send(id, phase);
        break;
      case Phase::Kind::put: {
        if (!gate_opens(phase)) break;
        const Time free = send(id, phase);
        if (free == now) break;
        machine_.loop().calendar().schedule(free, *this, resume);
        return;
      }
    }
  }
}

bool Replay::gate_opens(const Phase& phase) {
  if (phase.gate == program::no_flag) return true;
  flags_.raise(phase.gate);
  return flags_.value(phase.gate) == phase.gate_target;
}

std::uint32_t Replay::new_flight(const Flight& flight) {
  if (free_flights_.empty()) {
    flights_.push_back(flight);
    return static_cast<std::uint32_t>(flights_.size() - 1);
  }
  const std::uint32_t id = free_flights_.back();
  free_flights_.pop_back();
  flights_[id] = flight;
  return id;
}

Time Replay::send(std::uint32_t id, const Phase& phase) {
  const Workgroup& wg = workgroups_[id];
  const Rank rank = runs_[wg.run].rank;
  const Time now = machine_.loop().now();
  const std::uint32_t flight = new_flight({rank, phase.peer, phase.flag, phase.proxied ? program::no_cu : wg.cu, phase.bytes, now});
  if (phase.kind == Phase::Kind::put && phase.peer != rank) {
    ++result_.puts;
    result_.put_bytes = result_.put_bytes + phase.bytes;
    nic::Put put;
    put.queue_pair = phase.queue_pair;
    put.bytes = phase.bytes;
    put.issuer = phase.proxied ? nic::Issuer::proxy : nic::Issuer::gpu;
    put.sink = this;
    put.payload = pack(Event::delivered, flight);
    return machine_.put(put, rank, phase.peer);
  }
  MOIRE_INVARIANT(phase.peer == rank || machine_.stores_reach(rank, phase.peer), "a signal leaves its node");
  const Time latency = phase.peer == rank ? machine_.gpu().l2.hit_latency : machine_.gpu().port.store_latency;
  machine_.loop().calendar().schedule(now + latency, *this, pack(Event::raise, flight));
  return now;
}

void Replay::arrive(std::uint32_t id) {
  const Flight flight = flights_[id];
  free_flights_.push_back(id);
  if (observer_ != nullptr) {
    const bool stores = machine_.stores_reach(flight.source, flight.destination);
    const std::string path = flight.source == flight.destination ? "local"
                             : flight.bytes.value == 0 && stores
                                 ? "scale-up"
                                 : fmt::format("NIC {}", machine_.endpoint_of(flight.source));
    observer_->put({flight.source, flight.destination, flight.cu, flight.bytes, flight.flag, path, flight.begin,
                    machine_.loop().now()});
  }
  flags_.raise(flight.flag);
}

void Replay::retire(std::uint32_t id) {
  const Workgroup wg = workgroups_[id];
  phases_.leave(id);
  free_workgroups_.push_back(id);
  KernelRun& run = runs_[wg.run];
  gpus_[run.rank]->dispatcher.retire(wg.cu, run.footprint);
  request_turn(run.rank);
  if (++run.finished < run.workgroups) return;
  const std::uint64_t queue = run.rank * program_.queues.size() + run.queue;
  machine_.loop().calendar().schedule(machine_.loop().now(), *this, pack(Event::end, queue));
}

void Replay::tell_phase_end(std::uint32_t id) {
  if (observer_ == nullptr) return;
  const Workgroup& wg = workgroups_[id];
  const KernelRun& run = runs_[wg.run];
  program::WorkgroupSpan span{run.rank,  run.queue,       wg.cu, run.kernel->name, wg.number, "", program::WaitReason::none,
                              program::no_flag, wg.since, machine_.loop().now()};
  switch (wg.doing) {
    case Phase::Kind::nothing:
    case Phase::Kind::signal:
      return;
    case Phase::Kind::work:
      span.phase = run.kernel->shapes[wg.shape].name;
      break;
    case Phase::Kind::delay:
      span.phase = "delay";
      span.reason = program::WaitReason::engine;
      break;
    case Phase::Kind::put:
      span.phase = "put";
      break;
    case Phase::Kind::wait:
      span.phase = "wait";
      span.reason = program::WaitReason::flag;
      span.flag = wg.flag;
      break;
  }
  observer_->workgroup(span);
}

}  // namespace moire::models::replay
