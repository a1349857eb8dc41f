// What a SimGrid platform file (XML) says of a network: hosts, links, and the route between any two hosts.
//
// SimGrid reads it in a process of its own: it ends the process where it does not like a file, and its one engine stays
// free for a simulation.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/core/network.hpp"

namespace moire::core::flow {

struct Platform {
  std::vector<std::string> hosts;     // by name, numbers in it by their value: node9 before node10
  std::vector<NetworkLink> links;     // those that some route takes
  std::vector<std::size_t> route_of;  // of host a to host b, at a x hosts + b: where in `routes` it begins; one more
  std::vector<LinkId> routes;

  static constexpr std::size_t most_hosts = 1024;  // routes are a table of all pairs
};

// Nothing, and what SimGrid said, where it cannot read the file. A link that is not shared (FATPIPE) carries so many
// times its bandwidth as there are hosts.
std::optional<Platform> read_platform(const std::string& file, std::string& problem);

}  // namespace moire::core::flow
