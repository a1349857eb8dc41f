// What a step of a collective does with a chunk: the one vocabulary of library algorithms, MSCCL XML, the language and
// execution plans.
#pragma once

#include <cstdint>

#include "models/algorithms/ir/collective.hpp"

namespace moire::ir {

using Rank = std::uint32_t;

// "reduce" adds what came and the rank's own data.
enum class Op : std::uint8_t {
  none,                   // only waits for other channels of the rank, or lets them go on
  copy,                   // src -> dst, within the rank
  reduce,                 // dst + src -> dst, within the rank
  send,                   // src -> FIFO out
  copy_send,              // src -> dst and FIFO out
  recv,                   // FIFO in -> dst
  recv_send,              // FIFO in -> FIFO out, nothing kept
  recv_copy_send,         // FIFO in -> dst and FIFO out
  recv_reduce_send,       // FIFO in + src -> FIFO out
  recv_reduce_copy,       // FIFO in + src -> dst
  recv_reduce_copy_send,  // FIFO in + src -> dst and FIFO out
  one_sided,              // threads load and store where they like, own memory or a peer's: Move
  hand_over,              // a host thread is told to put the chunk to `to`, and the channel goes on
};
inline constexpr std::uint32_t ops = 11;  // those before the one-sided ones

// What an op takes and leaves.
struct Effect {
  bool receives = false;
  bool sends = false;
  bool reads_src = false;
  bool reads_dst = false;
  bool writes_dst = false;
  bool reduces = false;

  // Of the rank's own memory, for a byte of the chunk.
  constexpr int loads() const { return (reads_src ? 1 : 0) + (reads_dst ? 1 : 0); }
  constexpr int stores() const { return writes_dst ? 1 : 0; }
};
constexpr Effect effect(Op op) {
  switch (op) {
    case Op::none:
      return {};
    case Op::copy:
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
    case Op::one_sided:  // what they take and leave stands in a Move
    case Op::hand_over:
      return {};
  }
  return {};
}

// What threads load and store for a byte of a one-sided step's chunk, one after the other. Packets are data with flags
// in one store: twice the bytes, and whoever reads them sees by them that they have come.
struct Move {
  std::uint32_t loads = 0;  // of the rank's own memory
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

// What a channel does beside moving data, as far as it takes time.
enum class Effort : std::uint8_t {
  order,      // waiting for another channel of the rank, or letting it go on
  nothing,    // it is part of another step
  operation,  // an operation of a plan is read
  meet,       // and all threads of the channel meet
  fence,      // and what was stored before is made visible to others
  expect,     // and it is counted how many signals are to have come
};
inline constexpr std::uint32_t efforts = 6;

inline constexpr std::uint32_t no_semaphore = ~0U;
inline constexpr std::uint32_t most_sources = 16;

// A connection is a FIFO from one rank to another. It has the same number at both ends: of those that go out of a rank
// and of those that come into a rank each number is used once.
struct Step {
  Op op = Op::none;
  double bytes = 0;  // of the chunk; the step that sends it and the one that receives it agree
  Rank from = 0;
  Rank to = 0;
  std::uint32_t in = 0;        // connections
  std::uint32_t out = 0;       //
  std::uint32_t received = 0;  // chunks that came through `in` before
  std::uint32_t sent = 0;      // chunks that went through `out` before
  std::uint32_t sources = 1;   // of reduce: buffers added to the one that keeps the sum, up to most_sources
  std::uint32_t move = 0;      // of one_sided: which of the program's moves
  // Of none: what orders the rank's channels among themselves, or with those of the rank `to`. Of hand_over: what is
  // raised once the chunk has come.
  std::uint32_t wait = no_semaphore;  // until it was raised wait_count times
  std::int64_t wait_count = 0;
  std::uint32_t raise = no_semaphore;
  bool far = false;   // the semaphore is one of the rank `to`
  bool more = false;  // another wait follows; several are polled side by side
  Effort effort = Effort::order;
};

// Bytes of a rank's buffer, from `begin` on.
struct Place {
  Buffer buffer = Buffer::input;
  double begin = 0;
};
// Where a step reads and writes, as far as its op does.
struct Places {
  Place src;
  Place dst;
};

}  // namespace moire::ir
