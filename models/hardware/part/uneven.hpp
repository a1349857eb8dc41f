// Late starts of ranks, and GPUs, NICs and links that are slower than their specs. models/hardware/perturb draws these
// numbers from the key `perturb` of a scenario.
#pragma once

#include <cstddef>
#include <vector>

#include "sim/core/quantity.hpp"

namespace moire::part {

// Each list has an entry per rank, NIC or link. If a list is empty, all ranks, NICs or links are as specified.
struct Uneven {
  std::vector<Time> start;    // by rank: time at which its host starts; 0 if it is not late
  std::vector<double> clock;  // by rank: fraction of the GPU's clock
  std::vector<double> port;   // by rank: fraction of the bandwidth of its scale-up links
  std::vector<double> nic;    // by NIC of the system: fraction of its payload bandwidth, in both directions
  std::vector<double> link;   // by link of the fabric: fraction of its bandwidth; 1 for the ports of NICs

  Time start_of(std::size_t rank) const { return start.empty() ? Time{} : start[rank]; }
  static double share(const std::vector<double>& of, std::size_t number) { return of.empty() ? 1 : of[number]; }
  bool none() const { return start.empty() && clock.empty() && port.empty() && nic.empty() && link.empty(); }
};

}  // namespace moire::part
