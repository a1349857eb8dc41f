// Who takes part in the run of a plan. Vector clocks (models/algorithms/proof/clock.hpp) number these agents.
#pragma once

#include <cstddef>
#include <vector>

#include "models/algorithms/mscclpp/plan.hpp"
#include "models/algorithms/proof/clock.hpp"

namespace moire::mscclpp {

using proof::Clock;
using proof::Knowledge;

// The numbers of the agents: first the thread blocks of all GPUs, then the proxies of all ports, then the calls of the
// GPUs. A call does nothing except that it begins, at time 1; the user's data are written until then.
struct Agents {
  std::size_t blocks = 0;                // number of thread blocks
  std::vector<std::size_t> first_proxy;  // of each GPU: the proxy of its first port channel
  std::size_t first_call = 0;
  std::size_t count = 0;

  explicit Agents(const Plan& plan) {
    for (const Gpu& gpu : plan.gpus) blocks += gpu.blocks.size();
    count = blocks;
    for (const Gpu& gpu : plan.gpus) {
      first_proxy.push_back(count);
      count += gpu.ports.size();
    }
    first_call = count;
    count += plan.gpus.size();
  }

  bool is_block(std::size_t agent) const { return agent < blocks; }
  bool is_call(std::size_t agent) const { return agent >= first_call; }
  std::size_t proxy(std::size_t gpu, std::size_t channel) const { return first_proxy[gpu] + channel; }
  std::size_t call(std::size_t gpu) const { return first_call + gpu; }
};

}  // namespace moire::mscclpp
