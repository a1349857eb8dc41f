// Which collectives, protocols and buffers there are, by one name each for files, programs, plans and libraries.
#pragma once

#include <cstddef>
#include <cstdint>

namespace moire::ir {

enum class Collective : std::uint8_t {
  all_reduce,
  all_gather,
  all_to_all,
  reduce_scatter,
  broadcast,  // from a root; files name none, theirs is rank 0
  reduce,     // to a root
  send,       // those from here on have no stated result
  recv,
  gather,
  scatter,
  all_to_all_v,
  send_recv,
  custom,
};

// How data crosses a FIFO: flags behind it, or in the same store or line. `automatic` is a library's own choice; no
// file says so.
enum class Protocol : std::uint8_t { simple, ll, ll128, automatic };

// Of a rank. Input and output are the user's; in place they are one, or one is a part of the other.
enum class Buffer : std::uint8_t { input, output, scratch };
inline constexpr std::uint32_t buffers = 3;

constexpr bool sums(Collective collective) {
  return collective == Collective::all_reduce || collective == Collective::reduce ||
         collective == Collective::reduce_scatter;
}
constexpr bool states_result(Collective collective) { return collective < Collective::send; }

// As scenarios write them: "all_reduce", "ll128".
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
