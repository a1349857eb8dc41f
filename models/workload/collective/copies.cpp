// Runs collectives by DMA engines: in turn k, rank r copies to rank r + k, or to its k-th peer in ascending order.
#include "models/workload/collective/collective.hpp"
#include "models/workload/collective/shares.hpp"

namespace moire::collective {

namespace {

using program::Rank;
using program::Transfer;

struct Copies {
  Kind kind;
  Rank ranks;
  Rank root;
  Rank offset;
  bool wraps;
  Order order;
  Bytes bytes;  // size of one copy
  std::optional<program::FlagBlock> arrived;

  // Returns the copy of a rank in turn 1, 2, ..., with its flag. The copy has no bytes and no flag if the rank has
  // nothing to send in this turn.
  Transfer at(Rank rank, Rank turn) const {
    Transfer transfer = without_flag(rank, turn);
    if (arrived && transfer.bytes.value > 0) transfer.flag = arrived->at(transfer.peer, turn - 1);
    return transfer;
  }

 private:
  Transfer without_flag(Rank rank, Rank turn) const {
    if (kind == Kind::send_recv) {
      if (!wraps && rank + offset >= ranks) return {rank, Bytes{}, program::no_flag};
      return {(rank + offset) % ranks, bytes, program::no_flag};
    }
    if (kind == Kind::broadcast && rank != root) return {rank, Bytes{}, program::no_flag};
    if (order == Order::rotated) return {(rank + turn) % ranks, bytes, program::no_flag};
    return {turn - 1 < rank ? turn - 1 : turn, bytes, program::no_flag};
  }
};

}  // namespace

void append_copies(builder::Builder& build, const Collective& c, const std::string& name) {
  const Rank ranks = build.ranks();
  const bool one = c.kind == Kind::send_recv;
  const Bytes one_copy{c.kind == Kind::all_to_all ? cut(c.bytes.value, ranks).each : c.bytes.value};
  std::optional<program::FlagBlock> arrived;
  if (c.method.flags && ranks > 1) {
    const std::string array = name + ".arrived";
    arrived = build.program.add_flags({array, ranks - 1, [array](Rank rank, std::uint32_t) {
                                         return std::pair{rank, array};
                                       }});
  }
  const Copies copies{c.kind, ranks, c.root, c.offset, c.wraps, c.method.order, one_copy, arrived};
  std::vector<std::function<Transfer(Rank)>> turns;
  for (Rank turn = 1; turn < (one ? 2 : ranks); ++turn)
    turns.emplace_back([copies, turn](Rank rank) { return copies.at(rank, turn); });
  if (c.method.own_share == OwnShare::copied && !one && c.kind != Kind::broadcast) {
    turns.emplace_back([copies](Rank rank) { return Transfer{rank, copies.bytes, program::no_flag}; });
  }
  if (c.method.streams == Streams::one) {
    for (auto& transfer : turns)
      build.queue.operations.emplace_back(program::Copy{build.unique(name), std::move(transfer)});
    return;
  }
  program::Copy all{build.unique(name), std::move(turns.front())};
  for (std::size_t i = 1; i < turns.size(); ++i) all.beside.push_back(std::move(turns[i]));
  build.queue.operations.emplace_back(std::move(all));
}

}  // namespace moire::collective
