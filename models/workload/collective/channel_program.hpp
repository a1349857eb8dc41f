// A collective as channels see it: each channel of each rank walks through a list of steps that move a chunk of data
// between the rank's memory and FIFOs from and to other ranks. Rings, trees and other algorithms, and files that state
// such lists, are channel programs; ChannelKernel (channel_kernel.hpp) runs any of them.
#pragma once

#include <cstdint>

#include "sim/program/program.hpp"

namespace moire::collective {

using program::Rank;

// What a step does with a chunk. "reduce" adds what came and the rank's own data.
enum class Op : std::uint8_t {
  none,                   // only waits for other channels of the rank, or lets them go on
  copy,                   // within the rank
  reduce,                 // buffers of its own into one of them
  send,                   // from its own memory
  copy_send,              // and a copy for itself
  recv,                   // into its own memory
  recv_send,              // on to the next, nothing kept
  recv_copy_send,         // and a copy for itself
  recv_reduce_send,       //
  recv_reduce_copy,       //
  recv_reduce_copy_send,  //
};
inline constexpr std::uint32_t ops = 11;

// What an op takes of memory and FIFOs for a byte of the chunk.
struct Traffic {
  int loads = 0;   // of the rank's own memory
  int stores = 0;  // to it
  bool receives = false;
  bool sends = false;
  bool reduces = false;
};
constexpr Traffic traffic(Op op) {
  switch (op) {
    case Op::none:
      return {};
    case Op::copy:
      return {.loads = 1, .stores = 1};
    case Op::reduce:
      return {.loads = 2, .stores = 1, .reduces = true};
    case Op::send:
      return {.loads = 1, .sends = true};
    case Op::copy_send:
      return {.loads = 1, .stores = 1, .sends = true};
    case Op::recv:
      return {.stores = 1, .receives = true};
    case Op::recv_send:
      return {.receives = true, .sends = true};
    case Op::recv_copy_send:
      return {.stores = 1, .receives = true, .sends = true};
    case Op::recv_reduce_send:
      return {.loads = 1, .receives = true, .sends = true, .reduces = true};
    case Op::recv_reduce_copy:
      return {.loads = 1, .stores = 1, .receives = true, .reduces = true};
    case Op::recv_reduce_copy_send:
      return {.loads = 1, .stores = 1, .receives = true, .sends = true, .reduces = true};
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

class ChannelProgram {
 public:
  virtual ~ChannelProgram() = default;
  virtual std::uint32_t channels() const = 0;  // of each rank, at most
  virtual std::uint32_t channels_of(Rank /*rank*/) const { return channels(); }
  // Groups of a channel's threads that walk their own steps side by side.
  virtual std::uint32_t strands() const { return 1; }
  virtual std::uint32_t connections() const = 0;          // numbers in use
  virtual std::uint32_t semaphores() const { return 0; }  // numbers in use within a rank
  // The other end of a connection, for messages.
  virtual Rank sender(Rank rank, std::uint32_t connection) const = 0;
  virtual Rank receiver(Rank rank, std::uint32_t connection) const = 0;
  // Fills `step` (reset to its default); false behind the last one. The same question has the same answer.
  virtual bool step(Rank rank, std::uint32_t channel, std::uint32_t strand, std::uint32_t number, Step& step) const = 0;
};

}  // namespace moire::collective
