// The positions of the connections and semaphores of a plan, in one slab of memory per GPU.
#pragma once

#include <vector>

#include "plan.hpp"

// Semaphores lie 32 bytes apart, as in the runtime.
inline constexpr int kSemaphoreWords = 4;

class Layout {
 public:
  explicit Layout(const Plan& plan);

  int64_t bytes(int rank) const { return bytes_[size_t(rank)]; }
  int64_t fifo_end(int rank) const { return fifo_end_[size_t(rank)]; }  // counts and semaphores follow
  // `slabs`: the addresses of all ranks' slabs, as the executing side (GPU or CPU) sees them.
  std::vector<BlockProgram> blocks(int rank, const GpuProgram& program, const std::vector<char*>& slabs) const;
  uint64_t* semaphores(int rank, const std::vector<char*>& slabs) const {
    return reinterpret_cast<uint64_t*>(slabs[size_t(rank)] + semaphores_[size_t(rank)]);
  }

 private:
  struct Connection {
    int from, to, channel;
    int64_t fifo, tail, recv_step;  // in the receiver's slab
    int64_t head, send_step;        // in the sender's slab
  };
  const Plan& plan_;
  std::vector<Connection> connections_;
  std::vector<int64_t> bytes_, fifo_end_, semaphores_;
};
