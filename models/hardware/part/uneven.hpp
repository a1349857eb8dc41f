// What of a machine's parts is not as its files say, one by one: a scenario's `perturb`, drawn
// (models/hardware/perturb).
#pragma once

#include <cstddef>
#include <vector>

#include "sim/core/quantity.hpp"

namespace moire::part {

// A list is as long as there are ranks, NICs or links, or empty where all are as the files say.
struct Uneven {
  std::vector<Time> start;    // by rank: how much later its host begins
  std::vector<double> clock;  // by rank: share of the GPU's clock
  std::vector<double> port;   // by rank: share of the bandwidth of its scale-up links
  std::vector<double> nic;    // by NIC of the system: share of its payload bandwidth, both directions
  std::vector<double> link;   // by link of the fabric: share of its bandwidth; NICs' ports have 1

  Time start_of(std::size_t rank) const { return start.empty() ? Time{} : start[rank]; }
  static double share(const std::vector<double>& of, std::size_t number) { return of.empty() ? 1 : of[number]; }
  bool none() const { return start.empty() && clock.empty() && port.empty() && nic.empty() && link.empty(); }
};

}  // namespace moire::part
