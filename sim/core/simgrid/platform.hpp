// Reads a SimGrid platform file (XML): hosts, links, and the route between any two hosts.
//
// SimGrid reads the file in a process of its own, because it exits on invalid files, and because a process can hold
// only one SimGrid engine, which a simulation may need later.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/core/network.hpp"

namespace moire::core::flow {

struct Platform {
  std::vector<std::string> hosts;     // sorted by name, with numbers in numerical order: node9 before node10
  std::vector<NetworkLink> links;     // links that are on at least one route
  std::vector<std::size_t> route_of;  // element a x hosts + b: where the route from a to b begins in `routes`
  std::vector<LinkId> routes;         // the links of all routes; a route ends where the next begins

  static constexpr std::size_t most_hosts = 1024;  // because routes are stored for all pairs
};

// Returns nothing if SimGrid cannot read the file; `problem` then contains SimGrid's message. A link that flows do not
// share (FATPIPE) gets its bandwidth times the number of hosts.
std::optional<Platform> read_platform(const std::string& file, std::string& problem);

}  // namespace moire::core::flow
