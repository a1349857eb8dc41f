// The positions of the connections and semaphores of a plan. Each rank has one slab of memory for them.
#pragma once

#include <vector>

#include "plan.hpp"

// Distance of neighbouring semaphores in words of 8 bytes, as in the MSCCL runtime.
inline constexpr int kSemaphoreWords = 4;

class Layout {
 public:
  explicit Layout(const Plan& plan);

  int64_t bytes(int rank) const { return bytes_[size_t(rank)]; }
  // Returns the end of the FIFOs in the slab; counts and semaphores follow.
  int64_t fifo_end(int rank) const { return fifo_end_[size_t(rank)]; }
  // Returns the programs of all thread blocks of `rank`. `slabs` are the addresses of all ranks' slabs, in GPU memory
  // or, for the emulation, in CPU memory.
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
