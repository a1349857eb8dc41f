#include "models/algorithms/mscclpp/work.hpp"

namespace moire::mscclpp {

double work_of(const Plan& plan, Cut cut) {
  auto agents = static_cast<double>(plan.gpus.size());
  for (const Gpu& gpu : plan.gpus) agents += static_cast<double>(gpu.blocks.size() + gpu.ports.size());
  double work = 0;
  const auto operands = [&](const Gpu& gpu, const Operation& op, const std::vector<Operand>& list, double slices) {
    for (const Operand& operand : list) {
      const bool group = operand.place == Operand::Place::group;
      const double members = group ? static_cast<double>(gpu.groups[operand.group].gpus.size()) : 1;
      // A sum has up to one term per GPU. A packet carries a clock, which has an entry for each agent.
      const double each = operand.packets ? agents : static_cast<double>(plan.gpus.size());
      work += members * (slices * operand.count / op.parts + 1) * each;
    }
  };
  const auto add = [&](const Gpu& gpu, const Operation& op, double rounds, double slices) {
    work += rounds * agents * static_cast<double>(1 + op.channels.size() + op.semaphores.size());
    operands(gpu, op, op.sources, slices);
    operands(gpu, op, op.destinations, slices);
  };
  for (const Gpu& gpu : plan.gpus) {
    constexpr double cell = 200;
    work += cell * (static_cast<double>(gpu.input_chunks) + gpu.output_chunks) * cut.slices;
    work += cell * static_cast<double>(gpu.scratch_chunks) * cut.scratch_slots;
    for (const std::uint32_t value : gpu.semaphores) work += value * agents;
    for (const Block& block : gpu.blocks) {
      for (const Operation& op : block.operations) {
        add(gpu, op, 1, cut.slices);
        for (const Operation& inner : op.inner) {
          add(gpu, inner, static_cast<double>(op.pipeline_chunks) * cut.slices, cut.slices);
        }
      }
    }
  }
  return work;
}

}  // namespace moire::mscclpp
