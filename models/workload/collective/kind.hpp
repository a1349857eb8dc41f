// Names of collectives and of the ways to run them.
#pragma once

#include <cstdint>

#include "models/algorithms/ir/collective.hpp"

namespace moire::collective {

using Kind = ir::Collective;  // not `Collective` (collective.hpp), which is the whole request of an operator
using ir::name_of;
using ir::Protocol;
// The algorithms of algorithms.hpp, and two ways to choose one: `automatic` leaves the choice to the library; `best`
// simulates all candidates and takes the one that is fastest on this machine.
enum class Algorithm : std::uint8_t {
  automatic,
  ring,
  tree,
  direct,
  recursive,
  nvls,
  pat,
  nvls_tree,
  nvls_sharp,
  best
};
inline bool chosen(Algorithm algorithm) { return algorithm != Algorithm::automatic && algorithm != Algorithm::best; }
enum class Engine : std::uint8_t { cu, dma, nic };
enum class Streams : std::uint8_t { one, per_peer };     // of DMA copies: one queue per GPU, or one per peer
enum class Order : std::uint8_t { rotated, ascending };  // of rank r's peers: r + 1, r + 2, ... or 0, 1, ...

}  // namespace moire::collective
