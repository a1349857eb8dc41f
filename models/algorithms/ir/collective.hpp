// The collectives, protocols and buffers, with the names that scenarios, programs, plans and library profiles share.
#pragma once

#include <cstddef>
#include <cstdint>

namespace moire::ir {

enum class Collective : std::uint8_t {
  all_reduce,
  all_gather,
  all_to_all,
  reduce_scatter,
  broadcast,  // algorithm files name no root: the root is rank 0
  reduce,     // in algorithm files, the root is rank 0, too
  send,       // no result is defined for `send` and the collectives below it
  recv,
  gather,
  scatter,
  all_to_all_v,
  send_recv,
  custom,
};

// How a receiver learns that data has arrived over a FIFO. Simple: a flag is written after the data. LL: every 8-byte
// store holds a flag. LL128: every line of 128 bytes holds a flag. `automatic` leaves the choice to the library and
// occurs in scenarios only.
enum class Protocol : std::uint8_t { simple, ll, ll128, automatic };

// Buffers of one rank. Input and output belong to the user; in an in-place call they are the same memory, or one is
// part of the other.
enum class Buffer : std::uint8_t { input, output, scratch };
inline constexpr std::uint32_t buffers = 3;

constexpr bool sums(Collective collective) {
  return collective == Collective::all_reduce || collective == Collective::reduce ||
         collective == Collective::reduce_scatter;
}
constexpr bool states_result(Collective collective) { return collective < Collective::send; }

// Return the name as scenario files spell it, such as "all_reduce" or "ll128".
constexpr const char* name_of(Protocol protocol) {
  constexpr const char* names[] = {"simple", "ll", "ll128", "auto"};
  return names[static_cast<std::size_t>(protocol)];
}
constexpr const char* name_of(Collective collective) {
  constexpr const char* names[] = {"all_reduce",   "all_gather", "all_to_all", "reduce_scatter", "broadcast",
                                   "reduce",       "send",       "recv",       "gather",         "scatter",
                                   "all_to_all_v", "send_recv",  "custom"};
  return names[static_cast<std::size_t>(collective)];
}

}  // namespace moire::ir
