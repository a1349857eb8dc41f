// Names of collectives and of the ways to run them.
#pragma once

#include <cstdint>

namespace moire::collective {

enum class Kind : std::uint8_t { all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, send_recv };
enum class Algorithm : std::uint8_t { automatic, ring, tree, direct, recursive };  // what they are: algorithms.hpp
enum class Protocol : std::uint8_t { automatic, simple, ll, ll128 };
enum class Engine : std::uint8_t { cu, dma, nic };
enum class Streams : std::uint8_t { one, per_peer };     // of copies: one queue a GPU, or one for each peer
enum class Order : std::uint8_t { rotated, ascending };  // of peers: r + 1, r + 2, ... or 0, 1, ...

const char* name_of(Kind kind);
const char* name_of(Protocol protocol);

}  // namespace moire::collective
