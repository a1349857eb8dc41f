// Chooses channels where the program names thread blocks. A thread block has one channel, and both ends of a transfer
// use the same channel. So blocks that exchange chunks, directly or through other blocks, form a group with one
// channel. If the program names a channel for a transfer of the group, the group has this channel. Otherwise, the group
// gets the first channel on which no other block of a rank has the same peer and direction.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "models/algorithms/mscclang/instruction.hpp"

namespace moire::mscclang {

namespace {

constexpr std::int32_t most_channels = 32;

class Connector {
 public:
  explicit Connector(Code& code) : code_(code) {}

  void run() {
    for (Id id = 0; id < static_cast<Id>(code_.instructions.size()); ++id) {
      if (!code_.at(id).removed) enter(id);
    }
    for (Id t = 0; t < static_cast<Id>(code_.transfers.size()); ++t) {
      join(block_of(code_.transfer(t).sender), block_of(code_.transfer(t).receiver));
    }
    for (Id t = 0; t < static_cast<Id>(code_.transfers.size()); ++t) name(t);
    std::vector<std::vector<Id>> groups(blocks_.size());
    for (Id t = 0; t < static_cast<Id>(code_.transfers.size()); ++t) {
      groups[root(block_of(code_.transfer(t).sender))].push_back(t);
    }
    for (const bool named : {true, false}) {
      for (std::size_t group = 0; group < groups.size(); ++group) {
        if (!groups[group].empty() && (blocks_[group].channel >= 0) == named) place(group, groups[group]);
      }
    }
  }

 private:
  struct Block {
    std::size_t parent = 0;
    Id sends = nobody;  // the first instruction of the block that sends
    Id recvs = nobody;
    std::int32_t channel = -1;  // of the group; valid only in the block that is the root of the group
    Id named_by = nobody;       // the transfer for which the program names the channel
  };
  using Name = std::tuple<std::int32_t, std::int32_t, std::int32_t>;  // rank, replica, number
  using End = std::tuple<std::int32_t, std::int32_t, bool, std::int32_t, std::int32_t>;

  std::size_t block_of(Id id) const {
    const Instruction& is = code_.at(id);
    return names_.at({is.rank, is.replica, is.block});
  }

  void enter(Id id) {
    const Instruction& is = code_.at(id);
    const auto [found, added] = names_.emplace(Name{is.rank, is.replica, is.block}, blocks_.size());
    if (added) blocks_.push_back({.parent = blocks_.size()});
    Block& block = blocks_[found->second];
    if (is.out != nobody) keep(block.sends, id, code_.to(is), "sends to");
    if (is.in != nobody) keep(block.recvs, id, code_.from(is), "receives from");
  }

  void keep(Id& first, Id id, std::int32_t peer, const char* does) const {
    if (first == nobody) first = id;
    const Instruction& before = code_.at(first);
    const std::int32_t its = std::string_view(does) == "sends to" ? code_.to(before) : code_.from(before);
    if (its == peer) return;
    throw ProgramError(
        {fmt::format("{}: thread block {} of rank {} {} rank {} because of the {}, so it cannot serve rank {} too",
                     code_.statement(id), code_.at(id).block, before.rank, does, its, code_.statement(first), peer),
         "use another block"});
  }

  std::size_t root(std::size_t block) {
    while (blocks_[block].parent != block) {
      blocks_[block].parent = blocks_[blocks_[block].parent].parent;
      block = blocks_[block].parent;
    }
    return block;
  }

  void join(std::size_t a, std::size_t b) {
    a = root(a);
    b = root(b);
    blocks_[std::max(a, b)].parent = std::min(a, b);
  }

  void name(Id t) {
    const std::int32_t wish = code_.wish(t);
    if (wish < 0) return;
    Block& group = blocks_[root(block_of(code_.transfer(t).sender))];
    if (group.channel < 0) {
      group.channel = wish;
      group.named_by = t;
    }
    if (group.channel == wish) return;
    throw ProgramError({fmt::format("{}: channel {} is used on thread blocks that have channel {} because of the {}",
                                    code_.statement(code_.transfer(t).receiver), wish, group.channel,
                                    code_.statement(code_.transfer(group.named_by).receiver)),
                        "a thread block has one channel"});
  }

  // Returns the transfer for which another thread block uses this end of a connection; nobody if the end is free.
  Id taken(Id t, std::int32_t channel, bool sending) const {
    const Id id = sending ? code_.transfer(t).sender : code_.transfer(t).receiver;
    const auto found = owners_.find(end(id, channel, sending));
    return found == owners_.end() || found->second.first == block_of(id) ? nobody : found->second.second;
  }

  End end(Id id, std::int32_t channel, bool sending) const {
    const Instruction& is = code_.at(id);
    return {is.rank, sending ? code_.to(is) : code_.from(is), sending, is.replica, channel};
  }

  // Gives the channel to the group and returns true, unless another block uses one of the group's ends of connections
  // on this channel. If two blocks of the group need the same connection, this fails for every channel.
  bool take(const std::vector<Id>& group, std::int32_t channel) {
    std::vector<End> added;
    for (const Id t : group) {
      if (taken(t, channel, true) != nobody || taken(t, channel, false) != nobody) {
        for (const End& end : added) owners_.erase(end);
        return false;
      }
      for (const bool sending : {true, false}) {
        if (own(t, channel, sending)) added.push_back(end_of(t, channel, sending));
      }
    }
    return true;
  }

  End end_of(Id t, std::int32_t channel, bool sending) const {
    return end(sending ? code_.transfer(t).sender : code_.transfer(t).receiver, channel, sending);
  }

  bool own(Id t, std::int32_t channel, bool sending) {
    const Id id = sending ? code_.transfer(t).sender : code_.transfer(t).receiver;
    return owners_.emplace(end(id, channel, sending), std::pair{block_of(id), t}).second;
  }

  void place(std::size_t group, const std::vector<Id>& transfers) {
    std::int32_t channel = blocks_[group].channel;
    for (std::int32_t c = 0; channel < 0 && c < most_channels; ++c) {
      if (take(transfers, c)) channel = c;
    }
    if (channel < 0 || blocks_[group].channel >= 0) {
      for (const Id t : transfers) must_be_free(t, std::max(channel, 0));
    }
    for (const Id t : transfers) code_.transfer(t).channel = channel;
  }

  void must_be_free(Id t, std::int32_t channel) {
    for (const bool sending : {true, false}) {
      const Id other = taken(t, channel, sending);
      if (other == nobody) continue;
      const Id id = sending ? code_.transfer(t).sender : code_.transfer(t).receiver;
      const Id first = sending ? code_.transfer(other).sender : code_.transfer(other).receiver;
      throw ProgramError(
          {fmt::format(
               "{}: thread block {} of rank {} {} rank {} on channel {}, as thread block {} does because of the {}",
               code_.statement(id), code_.at(id).block, code_.at(id).rank, sending ? "sends to" : "receives from",
               sending ? code_.to(code_.at(id)) : code_.from(code_.at(id)), channel, code_.at(first).block,
               code_.statement(first)),
           "use that block or another channel"});
    }
    for (const bool sending : {true, false}) own(t, channel, sending);
  }

  Code& code_;
  std::map<Name, std::size_t> names_;
  std::vector<Block> blocks_;
  std::map<End, std::pair<std::size_t, Id>> owners_;  // by end: the block that uses it, and one of its transfers
};

}  // namespace

void connect_manual(Code& code) { Connector(code).run(); }

}  // namespace moire::mscclang
