// Names of collectives and of the ways to run them.
#pragma once

#include <cstdint>

#include "models/algorithms/ir/collective.hpp"

namespace moire::collective {

using Kind = ir::Collective;  // Collective is what an operator asks for
using ir::name_of;
using ir::Protocol;
// What they are: algorithms.hpp. `best`: the one that ends first on the machine.
enum class Algorithm : std::uint8_t { automatic, ring, tree, direct, recursive, nvls, best };
inline bool chosen(Algorithm algorithm) { return algorithm != Algorithm::automatic && algorithm != Algorithm::best; }
enum class Engine : std::uint8_t { cu, dma, nic };
enum class Streams : std::uint8_t { one, per_peer };     // of copies: one queue a GPU, or one for each peer
enum class Order : std::uint8_t { rotated, ascending };  // of peers: r + 1, r + 2, ... or 0, 1, ...

}  // namespace moire::collective
