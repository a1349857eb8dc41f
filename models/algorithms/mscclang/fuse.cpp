// Fuses a receive and the first send of the chunks that it wrote. A receive that copies becomes a recv-copy-send, a
// receive that reduces becomes a recv-reduce-copy-send. If no other instruction reads the sum and the result does not
// need it, the latter becomes a recv-reduce-send, which does not store the sum.
#include <algorithm>

#include "models/algorithms/mscclang/instruction.hpp"

namespace moire::mscclang {

namespace {

using ir::Op;

// What happens to the chunks that a receive wrote, until they are overwritten.
struct Fate {
  Id send = nobody;  // the first send that could be fused with the receive
  Id last_reader = nobody;
  std::int32_t readers = 0;
  std::int32_t lost = 0;  // number of these chunks that the result does not need
};

bool receives(const Instruction& i) { return i.in != nobody; }

// True if the receive and the send name the same thread block and belong to the same replica.
bool may_share_a_block(const Instruction& recv, const Instruction& send) {
  return recv.block == send.block && recv.replica == send.replica;
}

class Fates {
 public:
  explicit Fates(const Code& code) : code_(code), fates_(code.instructions.size()) {}

  std::vector<Fate> run() {
    for (std::size_t r = 0; r < code_.by_rank.size(); ++r) walk(static_cast<std::int32_t>(r));
    return std::move(fates_);
  }

 private:
  Fate& of(Id id) { return fates_[static_cast<std::size_t>(id)]; }

  void walk(std::int32_t rank) {
    const SlotRow row(code_, rank);
    writer_.assign(row.size(), nobody);
    for (const Id id : code_.by_rank[static_cast<std::size_t>(rank)]) {
      const Instruction& is = code_.at(id);
      const ir::Effect effect = ir::effect(is.type);
      if (effect.reads_src) read(id, row.of(is.src));
      if (effect.reads_dst) read(id, row.of(is.dst));
      if (is.type == Op::send) offer(id, row.of(is.src));
      if (effect.writes_dst) write(id, row.of(is.dst), !effect.reduces);
    }
    lose(rank, row);
  }

  void read(Id id, std::size_t first) {
    for (std::int32_t i = 0; i < code_.at(id).count; ++i) {
      const Id writer = writer_[first + static_cast<std::size_t>(i)];
      if (writer == nobody || of(writer).last_reader == id) continue;
      of(writer).last_reader = id;
      ++of(writer).readers;
    }
  }

  void offer(Id id, std::size_t first) {
    const Instruction& send = code_.at(id);
    const Id writer = writer_[first];
    if (writer == nobody || !receives(code_.at(writer)) || of(writer).send != nobody) return;
    const Instruction& recv = code_.at(writer);
    if (recv.dst != send.src || recv.count != send.count || !may_share_a_block(recv, send)) return;
    for (std::int32_t i = 0; i < send.count; ++i) {
      if (writer_[first + static_cast<std::size_t>(i)] != writer) return;
    }
    of(writer).send = id;
  }

  void write(Id id, std::size_t first, bool unread) {
    for (std::int32_t i = 0; i < code_.at(id).count; ++i) {
      Id& writer = writer_[first + static_cast<std::size_t>(i)];
      if (writer != nobody && unread) ++of(writer).lost;
      writer = id;
    }
  }

  void lose(std::int32_t rank, const SlotRow& row) {
    for (const Range& range : code_.results[static_cast<std::size_t>(rank)]) {
      for (std::int32_t i = range.begin; i < range.end; ++i) writer_[row.of({range.buffer.id, i})] = nobody;
    }
    for (const Id writer : writer_) {
      if (writer != nobody) ++of(writer).lost;
    }
  }

  const Code& code_;
  std::vector<Fate> fates_;
  std::vector<Id> writer_;  // by slot
};

// The transfer that a fused instruction receives and the transfer that it sends share a channel. This class finds out
// whether the channels that the program names allow a fusion.
class Channels {
 public:
  explicit Channels(const Code& code) {
    for (const Transfer& transfer : code.transfers) {
      parent_.push_back(static_cast<Id>(parent_.size()));
      channel_.push_back(code.at(transfer.receiver).channel);
    }
  }
  bool join(Id a, Id b) {
    a = root(a);
    b = root(b);
    const std::int32_t of_a = channel_[static_cast<std::size_t>(a)];
    const std::int32_t of_b = channel_[static_cast<std::size_t>(b)];
    if (of_a >= 0 && of_b >= 0 && of_a != of_b) return false;
    parent_[static_cast<std::size_t>(b)] = a;
    channel_[static_cast<std::size_t>(a)] = std::max(of_a, of_b);
    return true;
  }

 private:
  Id root(Id id) {
    while (parent_[static_cast<std::size_t>(id)] != id) {
      Id& up = parent_[static_cast<std::size_t>(id)];
      up = parent_[static_cast<std::size_t>(up)];
      id = up;
    }
    return id;
  }
  std::vector<Id> parent_;
  std::vector<std::int32_t> channel_;
};

Op fused_type(const Instruction& recv, const Fate& fate) {
  if (recv.type == Op::recv) return Op::recv_copy_send;
  const bool only_sent = fate.readers == 1 && fate.lost == recv.count;
  return only_sent ? Op::recv_reduce_send : Op::recv_reduce_copy_send;
}

}  // namespace

void fuse(Code& code) {
  const std::vector<Fate> fates = Fates(code).run();
  Channels channels(code);
  for (Id id = 0; id < static_cast<Id>(code.instructions.size()); ++id) {
    Instruction& recv = code.at(id);
    const Fate& fate = fates[static_cast<std::size_t>(id)];
    if (!receives(recv) || fate.send == nobody) continue;
    Instruction& send = code.at(fate.send);
    if (!channels.join(recv.in, send.out)) continue;
    recv.type = fused_type(recv, fate);
    recv.out = send.out;
    recv.fused = fate.send;
    send.removed = true;
    code.transfer(send.out).sender = id;
  }
}

void part(Code& code, Id fused) {
  Instruction& recv = code.at(fused);
  Instruction& send = code.at(recv.fused);
  recv.type = recv.type == Op::recv_copy_send ? Op::recv : Op::recv_reduce_copy;
  recv.out = nobody;
  recv.fused = nobody;
  send.removed = false;
  code.transfer(send.out).sender = static_cast<Id>(&send - code.instructions.data());
}

}  // namespace moire::mscclang
