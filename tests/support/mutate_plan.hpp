// Introduces faults into MSCCL++ plans, to test the checker and the executor of plans.
#pragma once

#include <map>
#include <random>
#include <vector>

#include "models/algorithms/mscclpp/plan.hpp"

namespace moire::mscclpp {

// Changes one operation or one semaphore of the plan at random.
inline void mutate(Plan& plan, std::mt19937_64& random) {
  const auto below = [&random](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  Gpu& gpu = plan.gpus[below(plan.gpus.size())];
  Block& block = gpu.blocks[below(gpu.blocks.size())];
  std::vector<Operation>* operations = &block.operations;
  if (operations->size() == 1 && !operations->front().inner.empty()) operations = &operations->front().inner;
  if (operations->empty()) return;
  const std::size_t at = below(operations->size());
  Operation& op = (*operations)[at];
  switch (below(7)) {
    case 0:
      operations->erase(operations->begin() + static_cast<std::ptrdiff_t>(at));
      break;
    case 1:
      operations->insert(operations->begin() + static_cast<std::ptrdiff_t>(below(operations->size() + 1)),
                         Operation(op));
      break;
    case 2:
      std::swap(op, (*operations)[below(operations->size())]);
      break;
    case 3:
      for (auto* operands : {&op.sources, &op.destinations}) {
        if (!operands->empty()) (*operands)[below(operands->size())].index ^= 1;
      }
      break;
    case 4: {  // exchanges a signal or wait with its relaxed form
      const std::map<OpType, OpType> other = {{OpType::signal, OpType::relaxed_signal},
                                              {OpType::relaxed_signal, OpType::signal},
                                              {OpType::wait, OpType::relaxed_wait},
                                              {OpType::relaxed_wait, OpType::wait}};
      if (const auto found = other.find(op.type); found != other.end()) op.type = found->second;
      break;
    }
    case 5:  // removes the nop at this index from all blocks of all GPUs
      for (Gpu& any : plan.gpus) {
        for (Block& one : any.blocks) {
          if (at < one.operations.size() && one.operations[at].type == OpType::nop) {
            one.operations.erase(one.operations.begin() + static_cast<std::ptrdiff_t>(at));
          }
        }
      }
      break;
    default:
      if (!gpu.semaphores.empty()) gpu.semaphores[below(gpu.semaphores.size())] = static_cast<std::uint32_t>(below(4));
  }
}

}  // namespace moire::mscclpp
