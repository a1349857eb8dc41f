#include "app/study/blame.hpp"

#include <algorithm>
#include <numeric>

#include "sim/core/invariant.hpp"

namespace moire::study {

namespace {

using machine::Apart;

// Which queues have something of a kind that sharing could cost time.
class Uses {
 public:
  explicit Uses(const PreparedRun& run) : run_(run) {}

  bool kernels() const {
    return several(
        [](const program::Operation& operation) { return std::holds_alternative<program::Kernel>(operation); });
  }
  bool engines() const {
    return several(
        [](const program::Operation& operation) { return std::holds_alternative<program::Copy>(operation); });
  }
  // What goes through NICs is known to the workgroups only.
  bool links() const { return run_.system->nodes > 1 || run_.system->node.nics > 0 || several(by_link); }
  bool clock() const { return run_.system->node.gpu.compute.matrix_clock && kernels(); }

 private:
  static bool by_link(const program::Operation& operation) {
    if (const auto* copy = std::get_if<program::Copy>(&operation)) {
      return copy->transfer(0).peer != 0 || !copy->beside.empty();
    }
    const auto* kernel = std::get_if<program::Kernel>(&operation);
    return kernel != nullptr && std::any_of(kernel->shapes.begin(), kernel->shapes.end(),
                                            [](const auto& shape) { return shape.peer_write + shape.peer_read > 0; });
  }
  bool several(const std::function<bool(const program::Operation&)>& is) const {
    return std::count_if(run_.program->queues.begin(), run_.program->queues.end(), [&](const program::Queue& queue) {
             return std::any_of(queue.operations.begin(), queue.operations.end(), is);
           }) > 1;
  }

  const PreparedRun& run_;
};

}  // namespace

Time QueueBlame::sum() const { return std::accumulate(lost.begin(), lost.end(), Time{}); }

std::vector<QueueBlame> blame(const PreparedRun& run, const std::vector<QueueResult>& together,
                              const std::vector<QueueResult>& alone,
                              const std::function<RunResult(const Apart&)>& simulated) {
  MOIRE_INVARIANT(together.size() == alone.size(), "blame without the time of every queue alone");
  std::vector<QueueBlame> queues;
  for (const QueueResult& queue : together) queues.push_back({queue.name, {}});
  std::vector<QueueResult> before = together;
  Apart apart;
  apart.queues = static_cast<std::uint32_t>(run.program->queues.size());
  const auto charge = [&](Lost part, const std::vector<QueueResult>& after) {
    for (std::size_t q = 0; q < queues.size(); ++q) {
      queues[q].lost[static_cast<std::size_t>(part)] += before[q].end - after[q].end;
    }
  };
  bool ended = true;
  const auto take_apart = [&](bool Apart::*kind, bool used, Lost part) {
    if (!used || !ended) return;
    apart.*kind = true;
    std::vector<QueueResult> after = simulated(apart).queues;
    ended = after.size() == queues.size();
    if (!ended) return;
    charge(part, after);
    if (part == Lost::extra_waves) {
      // Of what places on CUs cost, the time until the first one.
      for (std::size_t q = 0; q < queues.size(); ++q) {
        const Time waited = before[q].waited - after[q].waited;
        queues[q].lost[static_cast<std::size_t>(Lost::cu_wait)] += waited;
        auto& rest = queues[q].lost[static_cast<std::size_t>(Lost::extra_waves)];
        rest = rest - waited;
      }
    }
    before = std::move(after);
  };
  const Uses uses(run);
  take_apart(&Apart::memory, true, Lost::memory);
  take_apart(&Apart::links, uses.links(), Lost::link);
  take_apart(&Apart::engines, uses.engines(), Lost::engine_queue);
  take_apart(&Apart::cus, uses.kernels(), Lost::cu_share);
  take_apart(&Apart::clock, uses.clock(), Lost::clock);
  take_apart(&Apart::slots, uses.kernels(), Lost::extra_waves);
  if (!ended) return {};
  if (run.system->network.model == machine::NetworkModel::flow && run.system->fabric) {
    // SimGrid's flows cannot be taken apart: what is left between everything apart and alone is theirs.
    take_apart(&Apart::host, true, Lost::launch);
    charge(Lost::link, alone);
  } else {
    charge(Lost::launch, alone);
  }
  return queues;
}

}  // namespace moire::study
