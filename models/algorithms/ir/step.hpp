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
};
inline constexpr std::uint32_t ops = 11;

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
  }
  return {};
}

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
  // Of none: what orders the rank's channels among themselves.
  std::uint32_t wait = no_semaphore;  // until it was raised wait_count times
  std::int64_t wait_count = 0;
  std::uint32_t raise = no_semaphore;
  bool more = false;  // another wait follows; several are polled side by side
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
