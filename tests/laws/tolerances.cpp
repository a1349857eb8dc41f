#include "tests/laws/tolerances.hpp"

#include <algorithm>

#include "sim/core/queue_network.hpp"

namespace moire::laws {

bool in_a_row(const Case& one) {
  return one.work.collective() && !one.work.is("engine", "dma") && !one.work.is("engine", "nic") &&
         !one.work.is("algorithm", "direct") && !one.work.is("algorithm", "tree") &&
         !one.work.is("algorithm", "recursive") && !one.work.is("algorithm", "pat") && !one.work.by_switch() &&
         one.op != "all_to_all" && one.op != "send_recv";
}

double most_reordered_of(const Case& one) {
  if (one.op == "mscclpp") return most_convoyed;
  if (one.work.hosted()) return most_hosted;
  if (in_a_row(one)) return most_reordered;
  return one.nodes > 1 ? most_collided : most_collided_in_a_node;
}

double most_apart(const Case& one) {
  const bool convoy = one.op == "gemm_reduce_scatter" || one.op == "all_gather_gemm";
  const double out_of_step = one.nodes > 1 ? most_out_of_step_between_nodes : most_out_of_step;
  return convoy ? 0.5 : std::max(most_reordered_of(one), out_of_step);
}

double looks(const Case& one) {
  return one.work.is("engine", "dma") ? number_of(one.system, "system.node.gpu.host.poll_interval", 0) : 0;
}

double ties(const Case& one) {
  if (one.nodes == 1) return looks(one);
  double chunk = number_of(one.system, "system.network.chunk", core::QueueNetworkSpec{}.chunk.value);
  for (const Change& change : one.machine())
    if (change.path == "system.network.chunk") chunk = std::stod(change.value);
  double slowest = number_of(one.system, "system.node.nic.bandwidth", 1);
  for (const char* link : {"torus.link", "dragonfly.local_link", "dragonfly.global_link"})
    slowest = std::min(slowest, number_of(one.system, std::string("system.fabric.") + link + ".bandwidth", 1e30));
  return looks(one) + chunk / slowest * 1e12 * static_cast<double>(one.nodes * one.gpus);
}

double rounding(const Outcome& a, const Outcome& b) {
  return static_cast<double>(std::max(a.result.stats.events, b.result.stats.events)) + 1e-8 * std::max(a.ps(), b.ps());
}

}  // namespace moire::laws
