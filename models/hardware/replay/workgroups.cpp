// Runs workgroups from the dispatcher's turn through their phases until they retire.
#include <algorithm>
#include <utility>

#include "models/hardware/replay/replay.hpp"
#include "sim/core/invariant.hpp"
#include "sim/core/pool.hpp"
#include "sim/program/turn.hpp"

namespace moire::replay {

using program::Phase;

namespace {

// OperationTimes::phases has one entry for each shape, and then the entries wait, delay, put and fence. Returns the
// position of `kind` among these four.
std::size_t other_phase(Phase::Kind kind) {
  return kind == Phase::Kind::wait ? 0 : kind == Phase::Kind::delay ? 1 : kind == Phase::Kind::put ? 2 : 3;
}

bool by_itself(Phase::Kind kind) {
  return kind != Phase::Kind::wait && kind != Phase::Kind::signal && kind != Phase::Kind::put;
}

}  // namespace

void Replay::request_turn(std::uint32_t number) {
  Gpu& gpu = *gpus_[number];
  if (gpu.turn_scheduled || !gpu.dispatcher->pending()) return;
  gpu.turn_scheduled = true;
  machine_.loop().calendar().schedule(std::max(gpu.next_turn, machine_.loop().now()), *this,
                                      pack(Event::dispatch, number));
}

void Replay::dispatch(std::uint32_t number) {
  Gpu& gpu = *gpus_[number];
  gpu.turn_scheduled = false;
  placed_.clear();
  gpu.dispatcher->place(placed_);
  if (placed_.empty()) return;  // no workgroup fits; the next workgroup that retires requests a turn
  const Time now = machine_.loop().now();
  gpu.next_turn = now + machine_.gpu(number % machine_.ranks()).compute.launch_interval;
  const std::vector<part::Placement> placed = placed_;
  for (const part::Placement& placement : placed) {
    KernelRun& run = runs_[placement.grid];
    if (observer_ != nullptr && run.started == 0 && run.reached < now) {
      observer_->operation({run.rank, run.queue, run.kernel->name, program::WaitReason::cu_slot, run.reached, now});
    }
    ++run.started;
    count_resident(number, placement.cu, true);
    OperationTimes& times = result_.operations[run.operation];
    times.first_workgroup = std::min(times.first_workgroup, now);
    ++times.workgroups;
    ++result_.workgroups;
    const std::uint32_t strands = run.strands;
    const std::uint32_t home = take_seat();
    for (std::uint32_t strand = 0; strand < strands; ++strand) {
      const std::uint32_t id = strand == 0 ? home : take_seat();
      Workgroup& wg = workgroups_[id];
      wg.run = placement.grid;
      wg.number = placement.workgroup;
      wg.cu = placement.cu;
      wg.strand = strand;
      rests_[id].home = home;
      rests_[id].strands = strands;
      go_on(id);
    }
  }
  request_turn(number);
}

std::uint32_t Replay::take_seat() {
  const std::uint32_t id = core::take(workgroups_, free_workgroups_);
  rests_.resize(workgroups_.size());
  workgroups_[id] = {};
  rests_[id] = {};
  return id;
}

void Replay::take_item(Workgroup& wg) {
  KernelRun& run = runs_[wg.run];
  rest_of(wg).item = run.next_item < run.items ? run.next_item++ : no_item;
  rest_of(wg).item_step = 0;
}

// Sets `phase` to the next step: first the remaining steps of the current item of the work queue, then those of further
// items, then the workgroup's own steps. Returns false if no step is left.
bool Replay::next_step(Workgroup& wg, Phase& phase) {
  const KernelRun& run = runs_[wg.run];
  const program::KernelBody& body = *run.kernel->body;
  while (has_item(wg)) {
    if (body.item_phase(run.rank, rest_of(wg).item, rest_of(wg).item_step, phase)) {
      rest_of(wg).item_step += 1 + phase.skipped;
      return true;
    }
    phase = {};
    take_item(wg);
  }
  const bool more = run.strands == 1 ? body.phase(run.rank, wg.number, wg.step, phase)
                                     : body.strand_phase(run.rank, wg.number, wg.strand, wg.step, phase);
  if (more) wg.step += 1 + phase.skipped;
  return more;
}

// Sets `phase` to the next step, with its time at the operating clock. Returns false if no step is left.
bool Replay::next_phase(Workgroup& wg, Phase& phase) {
  if (!next_step(wg, phase)) return false;
  const std::optional<double>& share = machine_.spec().operated_at;
  if (phase.instructions && share) phase.duration = Time::from_seconds(phase.duration.seconds() / *share);
  return true;
}

program::FlagRef Replay::simulated_flag(const Workgroup& wg, const Phase& phase) const {
  if (machine_.images() == 1 || phase.flag == program::no_flag) return phase.flag;
  const Rank away = program_.place_of(phase.flag).rank / machine_.ranks() * machine_.ranks();
  if (away == 0) return phase.flag;
  const KernelRun& run = runs_[wg.run];
  const program::KernelBody& body = *run.kernel->body;
  const Rank sender = machine_.circle().minus(run.rank, away);
  Phase there;
  if (has_item(wg)) {
    body.item_phase(sender, rest_of(wg).item, rest_of(wg).item_step - 1, there);
  } else if (run.strands == 1) {
    body.phase(sender, wg.number, wg.step - 1, there);
  } else {
    body.strand_phase(sender, wg.number, wg.strand, wg.step - 1, there);
  }
  MOIRE_INVARIANT(program::is_turned(program_, *run.kernel, phase, run.rank, there, sender, machine_.circle()),
                  "ranks that are simulated as one do different things: " + run.kernel->name);
  return there.flag;
}

// Executes the workgroup's steps up to the next step that takes time.
void Replay::go_on(std::uint32_t id) {
  const Time now = machine_.loop().now();
  end_phase(id, now);
  while (true) {
    Workgroup& wg = workgroups_[id];
    const KernelRun& run = runs_[wg.run];
    Phase phase;
    if (wg.alone > 0) {
      phase.kind = Phase::Kind::work;
      phase.shape = run.kernel->shapes[wg.shape].out_of_step;
      phase.peer = wg.peer;
      phase.amount = std::exchange(wg.alone, 0);
    } else if (!next_phase(wg, phase)) {
      if (straggles(id)) return;
      if (wg.posted == 0) return retire(id);
      // A workgroup ends only after all its posted work has ended.
      wg.doing = Phase::Kind::fence;
      wg.since = now;
      return;
    }
    if (pulse_ != nullptr) steps_ += phase.skipped;
    begin_phase(wg, phase.kind, now);
    MOIRE_INVARIANT(stand_ins_.empty() || !by_itself_[run.rank] || by_itself(phase.kind),
                    "a kernel that ranks run by themselves waits, signals or puts: " + run.kernel->name);
    const std::uint64_t resume = pack(Event::workgroup, id);
    switch (phase.kind) {
      case Phase::Kind::nothing:
        break;
      case Phase::Kind::take:
        take_item(wg);
        break;
      case Phase::Kind::work:
        if (phase.amount <= 0) break;
        if (phase.posted) {
          post(id, phase);
          break;
        }
        wg.shape = phase.shape;
        wg.peer = phase.peer;
        if (phase.panel != program::no_panel) {
          wg.alone = phase.amount * lost_share(wg, phase);
          phase.amount -= wg.alone;
        }
        count_stores(wg, phase.amount);
        visit(run, wg.shape, phase.peer, true);
        if (wg.strand == 0 && !std::exchange(wg.has_worked, true)) count_working(wg.run);
        phases_.start(id, run.rank, wg.cu, run.first_shape + wg.shape, phase.peer, phase.amount, *this, resume);
        return;
      case Phase::Kind::delay:
        if (phase.duration.ps <= 0) break;
        begin_delay(wg, phase);
        machine_.loop().calendar().schedule(now + phase.duration, *this, resume);
        return;
      case Phase::Kind::fence:
        return begin_fence(id, phase.duration);
      case Phase::Kind::drain:
        if (wg.posted == 0) break;
        wg.doing = Phase::Kind::fence;
        return;
      case Phase::Kind::wait:
        begin_wait(wg, phase);
        phases_.leave(id);
        return flags_.wait(phase.flag, phase.target, *this, resume);
      case Phase::Kind::signal:
      case Phase::Kind::put: {
        if (!gate_opens(phase)) break;
        const Time free = send(id, phase, now);
        if (free == now) break;
        return go_ahead(id, free, false);
      }
    }
  }
}

// Returns the share of a panel's cache lines that were evicted since the previous workgroup of the panel began. Caches
// evict lines in the order in which they were loaded. The lines that they hold were loaded evenly over the last
// `residence` (PhaseShape::residence), so within a time t the share t / residence of these lines is evicted.
double Replay::lost_share(const Workgroup& wg, const Phase& phase) {
  KernelRun& run = runs_[wg.run];
  if (run.panels.size() <= phase.panel) run.panels.resize(phase.panel + 1);
  const KernelRun::Panel now{machine_.loop().now(), wg.waited};
  const KernelRun::Panel last = std::exchange(run.panels[phase.panel], now);
  if (last.began == Time::max()) return 0;
  // Counts only the time by which one of the two workgroups has waited longer for flags than the other. A workgroup of
  // a later wave also begins later, but the misses of the shape already include the loads of later waves.
  const Time apart =
      std::min(now.began - last.began, std::max(last.waited, now.waited) - std::min(last.waited, now.waited));
  if (apart.ps == 0) return 0;
  constexpr double most = 1 - 1e-12;  // below 1, because every tile must begin with some work of this shape
  return std::min(most, apart.seconds() / run.kernel->shapes[phase.shape].residence.seconds());
}

void Replay::begin_phase(Workgroup& wg, Phase::Kind kind, Time at) {
  if (pulse_ != nullptr) pulse_->steps.store(++steps_, std::memory_order_relaxed);
  if (!stand_ins_.empty() && stand_ins_[runs_[wg.run].operation].run == wg.run)
    ++stand_ins_[runs_[wg.run].operation].steps;
  wg.doing = kind;
  wg.since = at;
}

void Replay::begin_delay(Workgroup& wg, const Phase& phase) {
  wg.shape = phase.shape;
  wg.stands_for_work = phase.stands_for_work;
  wg.peer = phase.peer;
  if (wg.stands_for_work) rest_of(wg).peer_bytes = 0;
}

// Counts the bytes that `amount` of work stores to a peer.
void Replay::begin_wait(Workgroup& wg, const Phase& phase) { wg.flag = phase.flag; }

// Called when it is known at which time `at`, now or later, a workgroup's wait, signal or put ends. Executes the
// workgroup's next steps now, with their future times, as long as they are delays, waits and signals, which depend only
// on flags. So these steps need no events. Work, puts and takes of queue items start at their real time, because other
// workgroups compete for the same capacities and items. While a workgroup waits, it does not count towards the load of
// its CU. So a workgroup that does not wait yet (`is_waiting` is false) must begin a wait at its real time, too.
void Replay::go_ahead(std::uint32_t id, Time at, bool is_waiting) {
  end_phase(id, at);
  Workgroup& wg = workgroups_[id];
  while (!has_item(wg)) {
    const std::uint32_t step = wg.step;
    Phase phase;
    if (!next_phase(wg, phase)) break;
    if (phase.kind == Phase::Kind::nothing || (phase.kind == Phase::Kind::delay && phase.duration.ps <= 0)) continue;
    if (phase.kind == Phase::Kind::delay) {
      begin_phase(wg, phase.kind, at);
      begin_delay(wg, phase);
      at += phase.duration;
      end_phase(id, at);
    } else if (phase.kind == Phase::Kind::wait && is_waiting) {
      begin_phase(wg, phase.kind, at);
      begin_wait(wg, phase);
      const Time rises = flags_.reached(phase.flag, phase.target);
      if (rises == Time::max()) return flags_.wait(phase.flag, phase.target, *this, pack(Event::workgroup, id));
      at = noticed(id, rises);
      end_phase(id, at);
    } else if (phase.kind == Phase::Kind::signal && phase.gate == program::no_flag) {
      begin_phase(wg, phase.kind, at);
      at = send(id, phase, at);
    } else {
      wg.step = step;
      break;
    }
  }
  wg.doing = Phase::Kind::nothing;
  machine_.loop().calendar().schedule(at, *this, pack(Event::workgroup, id));
}

// Returns the time at which a waiting workgroup notices that its flag reached the target at time `rises`. The workgroup
// polls the flag in the L2.
Time Replay::noticed(std::uint32_t id, Time rises) const {
  const Workgroup& wg = workgroups_[id];
  return std::max(wg.since, rises) + machine_.gpu(runs_[wg.run].rank).l2.hit_latency;
}

// The seat of strand 0 stays occupied until the last strand has ended.
bool Replay::last_strand(std::uint32_t id) {
  const std::uint32_t home = rests_[id].home;
  if (id != home) free_workgroups_.push_back(id);
  if (--rests_[home].strands > 0) return false;
  free_workgroups_.push_back(home);
  return true;
}

void Replay::count_working(std::uint32_t number) {
  KernelRun& run = runs_[number];
  run.most_at_work = std::max(run.most_at_work, ++run.at_work);
}

// All workgroups of the model end their loads as an average one does. So the last workgroup of a kernel, when it has no
// step left, stands for the one that is last on the GPU. Returns true if the workgroup goes on later.
bool Replay::straggles(std::uint32_t id) {
  Workgroup& wg = workgroups_[id];
  KernelRun& run = runs_[wg.run];
  const std::uint32_t home = rests_[id].home;
  if (run.finished + 1 < run.workgroups || rests_[home].strands > 1 || run.has_straggled) return false;
  run.has_straggled = true;
  const Time later = workgroups_[home].has_worked ? phases_.straggles(home, run.most_at_work) : run.straggles;
  if (later.ps == 0) return false;
  const Time now = machine_.loop().now();
  begin_phase(wg, Phase::Kind::delay, now);
  wg.stands_for_work = false;
  machine_.loop().calendar().schedule(now + later, *this, pack(Event::workgroup, id));
  return true;
}

void Replay::retire(std::uint32_t id) {
  const Workgroup wg = workgroups_[id];
  phases_.leave(id);
  if (!last_strand(id)) return;
  KernelRun& run = runs_[wg.run];
  const Time refill = machine_.gpu().compute.slot_refill;
  if (refill.ps > 0 && gpus_[gpu_with_slots(run.rank, run.queue)]->dispatcher->pending()) {
    std::vector<Time>& next = gpus_[gpu_with_slots(run.rank, run.queue)]->next_refill;
    if (next.empty()) next.resize(static_cast<std::size_t>(machine_.gpu().compute.total_cus()));
    const Time at = std::max(machine_.loop().now() + refill, next[wg.cu]);
    next[wg.cu] = at + machine_.gpu().compute.refill_interval;
    ++run.refilling;
    machine_.loop().calendar().schedule(at, *this, pack(Event::freed, std::uint64_t{wg.run} << 16 | wg.cu));
  } else {
    free_slot(wg.run, wg.cu);
  }
  const std::uint32_t home = rests_[id].home;
  if (workgroups_[home].has_worked && --run.at_work == 0) run.straggles = phases_.straggles(home, run.most_at_work);
  if (++run.finished < run.workgroups) return;
  const std::uint64_t queue = run.rank * program_.queues.size() + run.queue;
  // Whatever a kernel has stored is visible to all GPUs when it ends.
  const link::PortSpec& port = machine_.gpu().port;
  const Time visible = run.stores_to_peers ? port.kernel_end.value_or(port.store_latency) : Time{};
  machine_.loop().calendar().schedule(machine_.loop().now() + visible, *this, pack(Event::end, queue));
}

void Replay::free_slot(std::uint32_t run_id, part::CuId cu) {
  const KernelRun& run = runs_[run_id];
  const std::uint32_t gpu = gpu_with_slots(run.rank, run.queue);
  gpus_[gpu]->dispatcher->retire(cu, run.footprint);
  count_resident(gpu, cu, false);
  request_turn(gpu);
}

void Replay::count_resident(std::uint32_t number, part::CuId cu, bool comes) {
  if (meters_ == nullptr) return;
  std::vector<std::uint32_t>& resident = gpus_[number]->resident;
  if (resident.size() <= cu) resident.resize(cu + 1);
  resident[cu] += comes ? 1 : -1;
  if (resident[cu] == (comes ? 1 : 0)) meters_->occupied(number % machine_.ranks(), comes);
}

void Replay::end_phase(std::uint32_t id, Time at) {
  Workgroup& wg = workgroups_[id];
  if (wg.doing == Phase::Kind::nothing || wg.doing == Phase::Kind::signal || wg.doing == Phase::Kind::take) return;
  if (wg.doing == Phase::Kind::wait) wg.waited += at - wg.since;
  const KernelRun& run = runs_[wg.run];
  const bool work = wg.doing == Phase::Kind::work || (wg.doing == Phase::Kind::delay && wg.stands_for_work);
  if (wg.doing == Phase::Kind::work) {
    visit(run, wg.shape, wg.peer, false);
    if (PeerStores* stores = peer_stores(wg)) stores->end(wg.cu, at);
  }
  program::PhaseTotal& phase = run.totals[work ? wg.shape : run.kernel->shapes.size() + other_phase(wg.doing)];
  ++phase.count;
  phase.total += at - wg.since;
  if (observer_ == nullptr) return;
  program::WorkgroupSpan span{
      run.rank,         run.queue, wg.cu, run.kernel->name, wg.number, phase.name, program::WaitReason::none,
      program::no_flag, wg.since,  at};
  if (wg.doing == Phase::Kind::wait) {
    span.reason = program::WaitReason::flag;
    span.flag = wg.flag;
  } else if (wg.doing == Phase::Kind::fence) {
    span.reason = program::WaitReason::fence;
  } else if (wg.doing == Phase::Kind::delay && !work) {
    span.reason = program::WaitReason::delay;
  }
  span.work = work;
  if (work) {
    const program::PhaseShape& shape = run.kernel->shapes[wg.shape];
    span.loads = shape.read > 0 || shape.peer_read > 0 || shape.flop > 0;
    span.posted = rest_of(wg).posted_by != UINT32_MAX;
    span.peer = wg.peer;
    span.peer_bytes = Bytes{rest_of(wg).peer_bytes};
  }
  span.strand = wg.strand;
  observer_->workgroup(span);
}

}  // namespace moire::replay
