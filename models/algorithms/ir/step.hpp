// What a step of a collective does with a chunk. Library algorithms, MSCCL XML, MSCCLang programs and MSCCL++ plans all
// use these operations.
#pragma once

#include <cstdint>

#include "models/algorithms/ir/collective.hpp"

namespace moire::ir {

using Rank = std::uint32_t;

// "reduce" adds received data and the rank's own data.
enum class Op : std::uint8_t {
  none,                   // moves no data: waits for other channels of the rank, or signals them
  copy,                   // src -> dst, within the rank
  reduce,                 // dst + src -> dst, within the rank
  send,                   // src -> FIFO out
  copy_send,              // src -> dst and FIFO out
  recv,                   // FIFO in -> dst
  recv_send,              // FIFO in -> FIFO out, without a copy in memory
  recv_copy_send,         // FIFO in -> dst and FIFO out
  recv_reduce_send,       // FIFO in + src -> FIFO out
  recv_reduce_copy,       // FIFO in + src -> dst
  recv_reduce_copy_send,  // FIFO in + src -> dst and FIFO out
  encode,                 // src -> dst, compressed, within the rank
  decode,                 // src, which is compressed, -> dst, within the rank
  one_sided,              // loads from and stores to own or a peer's memory: see Move
  hand_over,              // asks a host proxy to put the chunk to rank `to`; the channel does not wait for the put
};
inline constexpr std::uint32_t ops = 13;  // number of operations before one_sided

// What an operation reads and writes.
struct Effect {
  bool receives = false;
  bool sends = false;
  bool reads_src = false;
  bool reads_dst = false;
  bool writes_dst = false;
  bool reduces = false;

  // Accesses to the rank's own memory for each byte of the chunk.
  constexpr int loads() const { return (reads_src ? 1 : 0) + (reads_dst ? 1 : 0); }
  constexpr int stores() const { return writes_dst ? 1 : 0; }
};
constexpr Effect effect(Op op) {
  switch (op) {
    case Op::none:
      return {};
    case Op::copy:
    case Op::encode:
    case Op::decode:
      return {.reads_src = true, .writes_dst = true};
    case Op::reduce:
      return {.reads_src = true, .reads_dst = true, .writes_dst = true, .reduces = true};
    case Op::send:
      return {.sends = true, .reads_src = true};
    case Op::copy_send:
      return {.sends = true, .reads_src = true, .writes_dst = true};
    case Op::recv:
      return {.receives = true, .writes_dst = true};
    case Op::recv_send:
      return {.receives = true, .sends = true};
    case Op::recv_copy_send:
      return {.receives = true, .sends = true, .writes_dst = true};
    case Op::recv_reduce_send:
      return {.receives = true, .sends = true, .reads_src = true, .reduces = true};
    case Op::recv_reduce_copy:
      return {.receives = true, .reads_src = true, .writes_dst = true, .reduces = true};
    case Op::recv_reduce_copy_send:
      return {.receives = true, .sends = true, .reads_src = true, .writes_dst = true, .reduces = true};
    case Op::one_sided:  // a Move lists the accesses of one_sided
    case Op::hand_over:
      return {};
  }
  return {};
}

constexpr bool is_coding(Op op) { return op == Op::encode || op == Op::decode; }

// Loads and stores for each byte of a one-sided step's chunk, carried out one after the other. A packet is one store
// that holds data and a flag. A packet takes twice the bytes of its data, and its flag tells the reader that the data
// has arrived.
struct Move {
  std::uint32_t loads = 0;  // from the rank's own memory
  std::uint32_t packet_loads = 0;
  std::uint32_t stores = 0;
  std::uint32_t packet_stores = 0;
  std::uint32_t peer_loads = 0;   // from the memory of `from`
  std::uint32_t peer_stores = 0;  // to the memory of `to`
  std::uint32_t peer_packet_stores = 0;
  std::uint32_t sums = 0;  // additions

  constexpr bool of_packets() const { return packet_loads + packet_stores + peer_packet_stores > 0; }
  friend bool operator==(const Move&, const Move&) = default;
};

// Work of a channel that takes time and does not move data. The times of meet, fence and expect include the time of
// `operation`.
enum class Effort : std::uint8_t {
  order,      // waiting for another channel of the rank, or signalling it
  nothing,    // no work of its own: the work of the step before it includes this step
  operation,  // reading an operation of an MSCCL++ plan
  meet,       // a barrier of all threads of the channel
  fence,      // a memory fence that makes earlier stores visible to others
  expect,     // a computation of how many signals must have arrived
};
inline constexpr std::uint32_t efforts = 6;

inline constexpr std::uint32_t no_semaphore = ~0U;
inline constexpr std::uint32_t most_sources = 16;

// A step of a channel. A connection is a FIFO from one rank to another, and both ranks know it by the same number. All
// connections that leave a rank have different numbers, and so do all connections that enter a rank.
struct Step {
  Op op = Op::none;
  double bytes = 0;  // of the chunk; sender and receiver state the same number
  Rank from = 0;
  Rank to = 0;
  std::uint32_t in = 0;        // number of the connection to receive from
  std::uint32_t out = 0;       // number of the connection to send to
  std::uint32_t received = 0;  // chunks that came through `in` before this step
  std::uint32_t sent = 0;      // chunks that went through `out` before this step
  std::uint32_t sources = 1;   // of reduce: buffers that are added to the destination, at most most_sources
  std::uint32_t move = 0;      // of one_sided: index into the program's moves()
  // A step with Op::none waits for or raises a semaphore, to order channels of this rank, or of this rank and rank
  // `to`. With Op::hand_over, the semaphore `raise` is raised once the chunk has arrived.
  std::uint32_t wait = no_semaphore;  // the step waits until this semaphore has been raised wait_count times
  std::int64_t wait_count = 0;
  std::uint32_t raise = no_semaphore;
  bool far = false;     // the semaphore `wait` or `raise` belongs to rank `to`, not to this rank
  bool more = false;    // the next step waits, too; the threads poll the semaphores of both steps side by side
  bool cached = false;  // what the step loads from the rank's own memory is in the L2
  Effort effort = Effort::order;
};

// A position in a rank's buffer, in bytes from its start.
struct Place {
  Buffer buffer = Buffer::input;
  double begin = 0;
};
// Where a step reads (src) and writes (dst). A place that the step's operation does not use has no meaning.
struct Places {
  Place src;
  Place dst;
};

}  // namespace moire::ir
