// Which collectives, protocols and buffers there are, by one name each for files, programs, plans and libraries.
#pragma once

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

// How data crosses a FIFO: flags behind it, or in the same store or line.
enum class Protocol : std::uint8_t { simple, ll, ll128 };

// Of a rank. Input and output are the user's; in place they are one, or one is a part of the other.
enum class Buffer : std::uint8_t { input, output, scratch };
inline constexpr std::uint32_t buffers = 3;

constexpr bool sums(Collective collective) {
  return collective == Collective::all_reduce || collective == Collective::reduce ||
         collective == Collective::reduce_scatter;
}
constexpr bool states_result(Collective collective) { return collective < Collective::send; }

// As scenarios write them: "all_reduce".
constexpr const char* name_of(Collective collective) {
  switch (collective) {
    case Collective::all_reduce:
      return "all_reduce";
    case Collective::all_gather:
      return "all_gather";
    case Collective::all_to_all:
      return "all_to_all";
    case Collective::reduce_scatter:
      return "reduce_scatter";
    case Collective::broadcast:
      return "broadcast";
    case Collective::reduce:
      return "reduce";
    case Collective::send:
      return "send";
    case Collective::recv:
      return "recv";
    case Collective::gather:
      return "gather";
    case Collective::scatter:
      return "scatter";
    case Collective::all_to_all_v:
      return "all_to_all_v";
    case Collective::send_recv:
      return "send_recv";
    case Collective::custom:
      return "custom";
  }
  return "";
}

}  // namespace moire::ir
