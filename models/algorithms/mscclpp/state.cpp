#include "models/algorithms/mscclpp/state.hpp"

namespace moire::mscclpp {

Site Worker::site() const {
  return {gpu, block, static_cast<std::int32_t>(next), in_pipeline() ? static_cast<std::int32_t>(inner) : -1};
}

Knowledge& Worker::thread(std::size_t number) {
  if (threads.size() <= number) threads.resize(number + 1);
  return threads[number];
}

Knowledge Worker::known_to_thread(std::size_t number) const {
  Knowledge known = knowledge;
  if (number < threads.size()) known.join(threads[number]);
  return known;
}

void Worker::meet() {
  for (const Knowledge& learnt : threads) knowledge.join(learnt);
  threads.clear();
  knowledge.join(from_packets);
  from_packets = {};
  knowledge.visible.set(agent, time);
  knowledge.over.set(agent, time);
}

void Semaphore::give(const Knowledge& knowledge) {
  Knowledge sum = given.empty() ? Knowledge{} : given.back();
  sum.join(knowledge);
  given.push_back(std::move(sum));
}

State::State(const Plan& plan_to_run, Cut cut)
    : plan(plan_to_run),
      layout(plan, cut),
      agents(plan),
      ends(plan),
      faults(plan),
      cells(plan, layout, agents, faults) {
  for (std::size_t g = 0; g < plan.gpus.size(); ++g) {
    const Gpu& gpu = plan.gpus[g];
    Knowledge begun{Clock(agents.count), Clock(agents.count)};  // an agent knows that its own GPU's call has begun
    begun.visible.set(agents.call(g), 1);
    begun.over.set(agents.call(g), 1);
    for (std::size_t b = 0; b < gpu.blocks.size(); ++b) {
      Worker& worker = workers.emplace_back();
      worker.agent = static_cast<std::uint32_t>(workers.size() - 1);
      worker.gpu = static_cast<std::uint32_t>(g);
      worker.block = static_cast<std::uint32_t>(b);
      worker.operations = &gpu.blocks[b].operations;
      worker.knowledge = begun;
    }
    proxies.insert(proxies.end(), gpu.ports.size(), begun);
    for (std::uint32_t s = 0; s < gpu.semaphores.size(); ++s) {
      for (std::uint32_t i = 0; i < gpu.semaphores[s]; ++i) semaphores[{g, s}].give(Knowledge{});
    }
  }
}

std::vector<std::vector<std::size_t>> State::runs(const Worker& w, const Operation& op, const Operand& operand,
                                                  std::optional<std::uint32_t> round) const {
  std::vector<std::vector<std::size_t>> all;
  if (operand.place == Operand::Place::group) {
    for (const std::int32_t gpu : plan.gpus[w.gpu].groups[operand.group].gpus) {
      all.push_back(layout.cells(operand, static_cast<std::size_t>(gpu), op.part, op.parts, round));
    }
  } else {
    all.push_back(layout.cells(operand, static_cast<std::size_t>(operand.gpu), op.part, op.parts, round));
  }
  return all;
}

}  // namespace moire::mscclpp
