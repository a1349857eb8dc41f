// Assigns instructions to thread blocks. With automatic blocks, each end of a connection has a block, and the two ends
// that a fused instruction uses share a block. Local work goes to one of the blocks of its channel: the block whose
// last instruction has the smallest depth (longest chain of waits before it) and, if depths are equal, the block with
// fewer instructions.
#include <algorithm>
#include <map>
#include <tuple>

#include "models/algorithms/mscclang/instruction.hpp"

namespace moire::mscclang {

namespace {

class Assigner {
 public:
  Assigner(const Code& code, const Schedule& schedule) : code_(code), schedule_(schedule) {
    made_.blocks.resize(code.by_rank.size());
    made_.block_of.assign(code.instructions.size(), -1);
    ends_.resize(code.by_rank.size());
    pools_.resize(code.by_rank.size());
    for (const Transfer& t : code.transfers) channels_ = std::max(channels_, t.channel + 1);
    if (code.program->options().blocks == Blocks::automatic) {
      for (const Instruction& is : code.instructions) {
        if (!is.removed && is.in != nobody && is.out != nobody) tie(is);
      }
    }
  }

  Assignment run() {
    const bool manual = code_.program->options().blocks == Blocks::manual;
    for (const Id id : schedule_.order)
      add(id, manual                                                    ? named(id)
              : code_.at(id).in == nobody && code_.at(id).out == nobody ? local(id)
                                                                        : remote(code_.at(id)));
    for (auto& blocks : made_.blocks) sort(blocks);
    for (const auto& blocks : made_.blocks) {
      for (std::size_t b = 0; b < blocks.size(); ++b) {
        for (const Id id : blocks[b].instructions)
          made_.block_of[static_cast<std::size_t>(id)] = static_cast<std::int32_t>(b);
      }
    }
    return std::move(made_);
  }

 private:
  using Block = Assignment::Block;
  struct End {  // one end of a connection
    std::int32_t peer, channel, replica;
    bool sending;
    auto operator<=>(const End&) const = default;
  };

  std::int32_t channel(const Instruction& is) const {
    const std::int32_t own = is.out != nobody ? code_.transfer(is.out).channel : code_.transfer(is.in).channel;
    return own + is.replica * channels_;
  }

  std::size_t make(std::int32_t rank, std::int32_t channel) {
    auto& blocks = made_.blocks[static_cast<std::size_t>(rank)];
    blocks.emplace_back().channel = channel;
    return blocks.size() - 1;
  }

  Block& block(std::int32_t rank, std::size_t index) { return made_.blocks[static_cast<std::size_t>(rank)][index]; }

  // Notes that both ends of a fused instruction need the same block. remote() makes the block when an instruction first
  // uses one of the ends.
  void tie(const Instruction& is) {
    const End send{code_.to(is), channel(is), is.replica, true};
    const End recv{code_.from(is), channel(is), is.replica, false};
    ends_[static_cast<std::size_t>(is.rank)][send].other = recv.peer;
    ends_[static_cast<std::size_t>(is.rank)][recv].other = send.peer;
  }

  std::size_t remote(const Instruction& is) {
    auto& ends = ends_[static_cast<std::size_t>(is.rank)];
    const bool sending = is.out != nobody;
    const End end{sending ? code_.to(is) : code_.from(is), channel(is), is.replica, sending};
    Owner& owner = ends[end];
    if (owner.block < 0) {
      owner.block = static_cast<std::int32_t>(make(is.rank, end.channel));
      Block& made = block(is.rank, static_cast<std::size_t>(owner.block));
      (sending ? made.send : made.recv) = end.peer;
      if (owner.other != msccl::none) {
        (sending ? made.recv : made.send) = owner.other;
        ends[{owner.other, end.channel, end.replica, !sending}].block = owner.block;
      }
      pools_[static_cast<std::size_t>(is.rank)][end.channel].push_back(static_cast<std::size_t>(owner.block));
    }
    return static_cast<std::size_t>(owner.block);
  }

  std::size_t local(Id id) {
    const Instruction& is = code_.at(id);
    const std::int32_t wanted =
        std::clamp(is.channel, 0, std::max(channels_ - 1, 0)) + is.replica * std::max(channels_, 1);
    auto& pool = pools_[static_cast<std::size_t>(is.rank)][wanted];
    if (pool.empty()) pool.push_back(make(is.rank, wanted));
    const auto busy = [&](std::size_t b) {
      const auto& its = block(is.rank, b).instructions;
      return std::pair(schedule_.depth[static_cast<std::size_t>(its.back())], its.size());
    };
    return *std::min_element(pool.begin(), pool.end(), [&](std::size_t a, std::size_t b) { return busy(a) < busy(b); });
  }

  std::size_t named(Id id) {
    const Instruction& is = code_.at(id);
    const auto [found, added] = names_.try_emplace({is.rank, is.replica, is.block}, 0);
    if (added) found->second = make(is.rank, is.replica * std::max(channels_, 1));
    Block& its = block(is.rank, found->second);
    if (is.out != nobody) its.send = code_.to(is);
    if (is.in != nobody) its.recv = code_.from(is);
    if (is.out != nobody || is.in != nobody) its.channel = channel(is);
    return found->second;
  }

  void add(Id id, std::size_t to) { block(code_.at(id).rank, to).instructions.push_back(id); }

  // Sorts blocks by peers and channel, so that blocks with equal peers are adjacent. The runtime starts blocks in this
  // order.
  static void sort(std::vector<Block>& blocks) {
    std::stable_sort(blocks.begin(), blocks.end(), [](const Block& a, const Block& b) {
      return std::tie(a.send, a.recv, a.channel) < std::tie(b.send, b.recv, b.channel);
    });
  }

  struct Owner {
    std::int32_t block = -1;
    std::int32_t other = msccl::none;  // peer of the other end that shares this block
  };

  const Code& code_;
  const Schedule& schedule_;
  Assignment made_;
  std::vector<std::map<End, Owner>> ends_;                               // by rank
  std::vector<std::map<std::int32_t, std::vector<std::size_t>>> pools_;  // by rank, then channel: blocks for local work
  std::map<std::tuple<std::int32_t, std::int32_t, std::int32_t>, std::size_t> names_;
  std::int32_t channels_ = 0;
};

}  // namespace

Assignment assign(const Code& code, const Schedule& schedule) { return Assigner(code, schedule).run(); }

}  // namespace moire::mscclang
