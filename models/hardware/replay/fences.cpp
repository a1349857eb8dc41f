// Fences of workgroups. A CU executes one fence at a time. The workgroups that ask for one meanwhile share the next
// one. A fence takes its duration after the posted work of all workgroups that share it has ended. A kernel's first
// fence on a GPU takes longer, and no other ends before it (validation/microbench/flag.cu: fences_together,
// first_fence). It also waits for stores to peers that other CUs have sent before it was asked for, which may lie in
// full links (validation/microbench/peer_epilogue.cu). Posted work, which fences wait for, is here as well.
#include <algorithm>
#include <utility>

#include "models/hardware/replay/replay.hpp"

namespace moire::replay {

using program::Phase;

// Returns when a fence of a kernel that begins at `now` ends at the earliest.
Time Replay::fenced_from(KernelRun& run, Time now) {
  if (!run.fenced) run.fenced = now + machine_.gpu().port.first_fence.value_or(Time{});
  return *run.fenced;
}

void Replay::begin_fence(std::uint32_t id, Time duration) {
  rests_[id].fence = duration;
  const Workgroup& wg = workgroups_[id];
  KernelRun& run = runs_[wg.run];
  fenced_from(run, machine_.loop().now());
  const std::uint32_t gpu = gpu_with_slots(run.rank, run.queue);
  rests_[id].others_known = gpus_[gpu]->peer_stores.known(wg.cu, machine_.loop().now());
  std::vector<Fences>& fences = gpus_[gpu]->fences;
  if (fences.empty()) fences.resize(static_cast<std::size_t>(machine_.gpu().compute.total_cus()));
  fences[wg.cu].next.push_back(id);
  if (fences[wg.cu].together.empty()) share_fence(gpu, wg.cu);
}

// Begins the fence of all workgroups that have asked for one.
void Replay::share_fence(std::uint32_t gpu, part::CuId cu) {
  Fences& fences = gpus_[gpu]->fences[cu];
  std::swap(fences.together, fences.next);
  for (const std::uint32_t id : fences.together) rests_[id].shares_fence = true;
  go_on_with_fence(gpu, cu);
}

// Returns where work of a workgroup that stores to another GPU is counted; null for other work.
PeerStores* Replay::peer_stores(const Workgroup& wg) {
  const KernelRun& run = runs_[wg.run];
  if (wg.peer == run.rank || run.kernel->shapes[wg.shape].peer_write <= 0) return nullptr;
  return &gpus_[gpu_with_slots(run.rank, run.queue)]->peer_stores;
}

// Schedules the end of a fence, unless a workgroup that shares it has posted work.
void Replay::go_on_with_fence(std::uint32_t gpu, part::CuId cu) {
  const Time now = machine_.loop().now();
  Time end;
  for (const std::uint32_t id : gpus_[gpu]->fences[cu].together) {
    if (workgroups_[id].posted > 0) return;
    const Time from = std::max(now, rests_[id].others_known);
    end = std::max({end, from + *rests_[id].fence, fenced_from(runs_[workgroups_[id].run], now)});
  }
  machine_.loop().calendar().schedule(end, *this, pack(Event::fenced, std::uint64_t{gpu} << 16 | cu));
}

// Called when a workgroup has no posted work left, and executes a fence, waits for one, or ends.
void Replay::end_posted_work(std::uint32_t id) {
  const Workgroup& wg = workgroups_[id];
  if (!rests_[id].fence) {
    machine_.loop().calendar().schedule(machine_.loop().now(), *this, pack(Event::workgroup, id));
  } else if (rests_[id].shares_fence) {
    go_on_with_fence(gpu_with_slots(runs_[wg.run].rank, runs_[wg.run].queue), wg.cu);
  }
}

void Replay::end_fence(std::uint32_t gpu, part::CuId cu) {
  Fences& fences = gpus_[gpu]->fences[cu];
  std::swap(fenced_, fences.together);
  if (!fences.next.empty()) share_fence(gpu, cu);
  for (const std::uint32_t id : fenced_) {
    rests_[id].fence.reset();
    rests_[id].shares_fence = false;
    go_on(id);
  }
  fenced_.clear();
}

void Replay::post(std::uint32_t id, const Phase& phase) {
  const std::uint32_t seat = take_seat();
  Workgroup& owner = workgroups_[id];
  const KernelRun& run = runs_[owner.run];
  Workgroup& posted = workgroups_[seat];
  posted.run = owner.run;
  posted.cu = owner.cu;
  posted.number = owner.number;
  posted.strand = owner.strand;
  posted.shape = phase.shape;
  posted.since = machine_.loop().now();
  rests_[seat].posted_by = id;
  posted.doing = Phase::Kind::work;
  posted.peer = phase.peer;
  count_stores(posted, phase.amount);
  ++owner.posted;
  visit(run, phase.shape, phase.peer, true);
  phases_.start_posted(seat, run.rank, owner.cu, run.first_shape + phase.shape, phase.peer, phase.amount, *this,
                       pack(Event::posted, seat));
}

void Replay::posted_done(std::uint32_t seat) {
  end_phase(seat, machine_.loop().now());
  const Workgroup& posted = workgroups_[seat];
  const bool remote = runs_[posted.run].kernel->shapes[posted.shape].peer_write > 0;
  const Time back = remote ? machine_.gpu().port.store_return : Time{};
  if (back.ps == 0) return posted_known(seat);
  machine_.loop().calendar().schedule(machine_.loop().now() + back, *this, pack(Event::known, seat));
}

void Replay::posted_known(std::uint32_t seat) {
  const std::uint32_t id = rests_[seat].posted_by;
  free_workgroups_.push_back(seat);
  Workgroup& owner = workgroups_[id];
  if (--owner.posted == 0 && owner.doing == Phase::Kind::fence) end_posted_work(id);
}

void Replay::count_stores(Workgroup& wg, double amount) {
  KernelRun& run = runs_[wg.run];
  const double bytes = amount * run.kernel->shapes[wg.shape].peer_write;
  if (PeerStores* stores = peer_stores(wg)) stores->begin(wg.cu, bytes);
  run.stores_to_peers |= bytes > 0 && wg.peer != run.rank;
  if (observer_ != nullptr) rest_of(wg).peer_bytes = bytes;
  result_.traffic.scale_up_bytes = result_.traffic.scale_up_bytes + Bytes{bytes};
}

}  // namespace moire::replay
