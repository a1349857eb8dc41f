#include "models/workload/chunked/plan.hpp"

#include <algorithm>
#include <bit>

namespace moire::chunked {

namespace {

// The member from which a member of a group gets a chunk, and the members to which it forwards the chunk. Member 0 has
// the chunk at the beginning.
struct Links {
  Rank from = program::no_rank;
  std::vector<Rank> next{};
};

Links chain(Rank member, Rank members) {
  Links links;
  if (member > 0) links.from = member - 1;
  if (member + 1 < members) links.next = {member + 1};
  return links;
}

Links binomial(Rank member, Rank members) {
  Links links;
  if (member > 0) links.from = member & (member - 1);
  const Rank below = member > 0 ? member & (~member + 1) : std::bit_ceil(members);
  for (Rank step = below / 2; step > 0; step /= 2)
    if (member + step < members) links.next.push_back(member + step);
  return links;
}

}  // namespace

// Returns the rank at a place. Places number the ranks from the root on: place 0 is the root, the other GPUs of its
// node follow, and then the other nodes. So the GPUs of a node have consecutive places.
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
  const std::int64_t others = shape_.members() - 1;
  if (shape_.algorithm != Algorithm::scatter_all_gather || others == 0) return shape_.chunks;
  return (shape_.chunks + others - 1) / others * others;
}

Task Plan::task(Rank rank, std::int64_t turn) const {
  return shape_.collective == Collective::broadcast ? broadcast_task(rank, turn) : ring_task(rank, turn);
}

// In step t of an all-gather, rank r forwards share r - t, which is its own share in step 0. In step t of a reduction,
// rank r forwards share r - 1 - t. In the last step of a reduction a rank only receives, and completes its own share.
// In an all-reduce, an all-gather of the sums follows. Its first step is the last step of the reduction.
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
  // The algorithm runs over `members`. These are all ranks, or the GPU at the first place of each node, from which a
  // chain or a tree leads through the node.
  const Rank place = place_of(rank), members = shape_.members(), each = shape_.ranks / members;
  const Rank member = place / each, inside = place % each;
  const bool deals = shape_.algorithm == Algorithm::scatter_all_gather && members > 1;
  const bool tree = shape_.algorithm == Algorithm::binomial;
  Task task;
  task.chunk = turn;
  Links links;
  if (!deals) {
    links = tree ? binomial(member, members) : chain(member, members);
  } else {
    // Member 0, the root, sends chunk c to member 1 + c mod (members - 1). From there the chunk goes around the ring of
    // the members other than the root. In each round, a member first forwards the chunk that the root sent to it.
    const std::int64_t others = members - 1, round = turn / others, number = turn % others;
    const std::int64_t first = member == 0 ? number : (member - 1 + others - number) % others;
    task.chunk = round * others + first;
    const auto after = [&](Rank at) { return at + 1 < members ? at + 1 : 1; };
    const auto begins = static_cast<Rank>(1 + first);
    if (member == 0) {
      links.next.push_back(begins);
    } else {
      links.from = member == begins ? 0 : member > 1 ? member - 1 : members - 1;
      if (after(member) != begins) links.next.push_back(after(member));
    }
  }
  if (task.chunk >= shape_.chunks) return {};
  const auto receive = [&](Rank from) {
    task.from = rank_at(from);
    task.compressed = compressed(task.from, rank);
  };
  const auto forward = [&](Rank to) { task.hops.push_back({rank_at(to), compressed(rank, rank_at(to)), false}); };
  if (inside == 0) {
    if (links.from != program::no_rank) receive(links.from * each);
    for (const Rank to : links.next) forward(to * each);
  }
  const Links within = tree ? binomial(inside, each) : chain(inside, each);
  if (within.from != program::no_rank) receive(place - inside + within.from);
  for (const Rank to : within.next) forward(place - inside + to);
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
    // The share that starts on a rank in an all-gather does not use the hop into that rank. The share that a reduction
    // completes on a rank does not use the hop out of that rank.
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
  if (shape_.algorithm != Algorithm::binomial) return shape_.members() - 1;
  int most = 0;
  for (Rank member = 1; member < shape_.members(); ++member) most = std::max(most, std::popcount(member));
  return most;
}

}  // namespace moire::chunked
