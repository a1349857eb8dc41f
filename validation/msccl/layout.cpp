#include "layout.hpp"

namespace {

constexpr int64_t kLine = 128;  // bytes between counts, so that no two share a cache line

}  // namespace

Layout::Layout(const Plan& plan) : plan_(plan), bytes_(size_t(plan.ranks())) {
  for (int r = 0; r < plan.ranks(); ++r) {
    for (const ThreadBlock& b : plan.gpus[size_t(r)].blocks) {
      if (b.send < 0) continue;
      Connection c{r, b.send, b.channel, 0, 0, 0, 0, 0};
      c.fifo = bytes_[size_t(c.to)];
      bytes_[size_t(c.to)] += fifo_bytes(plan.ll);
      connections_.push_back(c);
    }
  }
  fifo_end_ = bytes_;
  const auto take = [&](int rank, int64_t bytes) {
    const int64_t at = bytes_[size_t(rank)];
    bytes_[size_t(rank)] += (bytes + kLine - 1) / kLine * kLine;
    return at;
  };
  for (Connection& c : connections_) {
    c.tail = take(c.to, kLine);
    c.recv_step = take(c.to, kLine);
    c.head = take(c.from, kLine);
    c.send_step = take(c.from, kLine);
  }
  for (int r = 0; r < plan.ranks(); ++r)
    semaphores_.push_back(take(r, int64_t(plan.gpus[size_t(r)].blocks.size()) * kSemaphoreWords * 8 + 8));
}

std::vector<BlockProgram> Layout::blocks(int rank, const GpuProgram& program, const std::vector<char*>& slabs) const {
  std::vector<BlockProgram> blocks;
  const auto word = [&](int at_rank, int64_t at) { return reinterpret_cast<uint32_t*>(slabs[size_t(at_rank)] + at); };
  for (size_t k = 0; k < program.blocks.size(); ++k) {
    const ThreadBlock& b = plan_.gpus[size_t(rank)].blocks[k];
    BlockProgram made{program.blocks[k], {}, {}};
    for (const Connection& c : connections_) {
      if (c.channel != b.channel) continue;
      if (c.from == rank && c.to == b.send)
        made.send = {slabs[size_t(c.to)] + c.fifo, word(c.to, c.tail), word(rank, c.head), word(rank, c.send_step)};
      if (c.to == rank && c.from == b.recv)
        made.recv = {slabs[size_t(rank)] + c.fifo, word(rank, c.tail), word(c.from, c.head), word(rank, c.recv_step)};
    }
    blocks.push_back(made);
  }
  return blocks;
}
