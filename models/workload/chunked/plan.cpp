#include "models/workload/chunked/plan.hpp"

#include <algorithm>
#include <bit>

namespace moire::chunked {

// Place 0 is the root, then come the other GPUs of its node, then the following nodes, so that GPUs of a node have
// consecutive places.
Rank Plan::rank_at(Rank place) const {
  const Rank nodes = shape_.ranks / shape_.gpus;
  const Rank node = (shape_.root / shape_.gpus + place / shape_.gpus) % nodes;
  return node * shape_.gpus + (shape_.root + place) % shape_.gpus;
}

Rank Plan::place_of(Rank rank) const {
  const Rank nodes = shape_.ranks / shape_.gpus;
  const Rank node = (rank / shape_.gpus + nodes - shape_.root / shape_.gpus) % nodes;
  return node * shape_.gpus + (rank % shape_.gpus + shape_.gpus - shape_.root % shape_.gpus) % shape_.gpus;
}

bool Plan::compressed(Rank from, Rank to) const {
  if (shape_.compression == Compression::off) return false;
  return !shape_.between_nodes || from / shape_.gpus != to / shape_.gpus;
}

std::int64_t Plan::chunks() const {
  return shape_.chunks * (shape_.collective == Collective::broadcast ? 1 : shape_.ranks);
}

std::int64_t Plan::turns() const {
  if (shape_.collective == Collective::all_reduce) return chunks() + (shape_.ranks - 1) * shape_.chunks;
  if (shape_.collective != Collective::broadcast) return chunks();
  if (shape_.algorithm != Algorithm::scatter_all_gather) return shape_.chunks;
  const std::int64_t others = shape_.ranks - 1;
  return (shape_.chunks + others - 1) / others * others;
}

Task Plan::task(Rank rank, std::int64_t turn) const {
  return shape_.collective == Collective::broadcast ? broadcast_task(rank, turn) : ring_task(rank, turn);
}

// In step t of an all-gather, rank r forwards share r - t, which is its own share in step 0. A reduction has the same
// steps, shifted by one share (r - 1 - t), so that its last step, in which a rank only receives, completes the rank's
// own share. In an all-reduce, an all-gather of the sums follows, and its first step is the last step of the reduction.
Task Plan::ring_task(Rank rank, std::int64_t turn) const {
  const std::int64_t ranks = shape_.ranks, step = turn / shape_.chunks;
  const bool sums = shape_.collective != Collective::all_gather;
  const std::int64_t behind = step + (sums ? 1 : 0);
  const std::int64_t share = (rank + 2 * ranks - behind) % ranks;
  Task task;
  task.chunk = share * shape_.chunks + turn % shape_.chunks;
  if (bytes(task.chunk) == 0) return {};
  const auto next = static_cast<Rank>((rank + 1) % ranks);
  if (step > 0) {
    task.from = static_cast<Rank>((rank + ranks - 1) % ranks);
    task.compressed = compressed(task.from, rank);
    task.partial = sums && step < ranks;
  }
  if (turn + shape_.chunks < turns()) task.hops = {{next, compressed(rank, next), sums && step + 1 < ranks}};
  return task;
}

Task Plan::broadcast_task(Rank rank, std::int64_t turn) const {
  const Rank place = place_of(rank), ranks = shape_.ranks;
  Task task;
  task.chunk = turn;
  std::vector<Rank> next;
  Rank from = program::no_rank;
  if (shape_.algorithm == Algorithm::chain && shape_.between_nodes) {
    const bool leads = place % shape_.gpus == 0;
    if (place > 0) from = leads ? place - shape_.gpus : place - 1;
    if (leads && place + shape_.gpus < ranks) next.push_back(place + shape_.gpus);
    if ((place + 1) % shape_.gpus != 0) next.push_back(place + 1);
  } else if (shape_.algorithm == Algorithm::chain) {
    if (place > 0) from = place - 1;
    if (place + 1 < ranks) next.push_back(place + 1);
  } else if (shape_.algorithm == Algorithm::binomial) {
    if (place > 0) from = place & (place - 1);
    const Rank below = place > 0 ? place & (~place + 1) : std::bit_ceil(ranks);
    for (Rank step = below / 2; step > 0; step /= 2)
      if (place + step < ranks) next.push_back(place + step);
  } else {
    // The root sends chunk c to place 1 + c mod (ranks - 1), from where it goes around the ring of the others. A rank
    // forwards the chunk that it got from the root first.
    const std::int64_t others = ranks - 1, round = turn / others, number = turn % others;
    const std::int64_t first = place == 0 ? number : (place - 1 + others - number) % others;
    task.chunk = round * others + first;
    const auto after = [&](Rank at) { return at + 1 < ranks ? at + 1 : 1; };
    const auto begins = static_cast<Rank>(1 + first);
    if (place == 0) {
      next.push_back(begins);
    } else {
      from = place == begins ? 0 : place > 1 ? place - 1 : ranks - 1;
      if (after(place) != begins) next.push_back(after(place));
    }
  }
  if (task.chunk >= shape_.chunks) return {};
  if (from != program::no_rank) {
    task.from = rank_at(from);
    task.compressed = compressed(task.from, rank);
  }
  for (const Rank to : next) task.hops.push_back({rank_at(to), compressed(rank, rank_at(to)), false});
  return task;
}

std::int64_t Plan::bytes(std::int64_t chunk) const {
  std::int64_t share = shape_.bytes, number = chunk;
  if (shape_.collective == Collective::all_gather) number = chunk % shape_.chunks;
  if (shape_.collective == Collective::reduce_scatter || shape_.collective == Collective::all_reduce) {
    number = chunk % shape_.chunks;
    share = shape_.bytes / shape_.ranks + (chunk / shape_.chunks < shape_.bytes % shape_.ranks ? 1 : 0);
  }
  return share / shape_.chunks + (number < share % shape_.chunks ? 1 : 0);
}

std::int64_t Plan::passes() const {
  if (shape_.compression == Compression::off) return 0;
  const bool root = shape_.compression == Compression::root;
  if (shape_.collective != Collective::broadcast) {
    // A reduction compresses at every hop; its last rank compresses once more for the all-gather.
    if (root) return shape_.collective == Collective::all_gather ? 1 : shape_.ranks;
    std::int64_t all = 0, most = 0;
    const auto counts = [this](Rank from) { return compressed(from, (from + 1) % shape_.ranks) ? 1 : 0; };
    for (Rank rank = 0; rank < shape_.ranks; ++rank) all += counts(rank);
    // An all-gather from a rank does not use the hop into that rank, and a reduction to a rank does not use the hop out
    // of it.
    for (Rank rank = 0; rank < shape_.ranks; ++rank) {
      std::int64_t taken = 0;
      if (shape_.collective != Collective::reduce_scatter)
        taken += all - counts((rank + shape_.ranks - 1) % shape_.ranks);
      if (shape_.collective != Collective::all_gather) taken += all - counts(rank);
      most = std::max(most, taken);
    }
    return most;
  }
  if (root) return shape_.between_nodes && shape_.gpus == shape_.ranks ? 0 : 1;
  if (shape_.algorithm != Algorithm::binomial) return shape_.ranks - 1;
  int most = 0;
  for (Rank place = 1; place < shape_.ranks; ++place) most = std::max(most, std::popcount(place));
  return most;
}

}  // namespace moire::chunked
