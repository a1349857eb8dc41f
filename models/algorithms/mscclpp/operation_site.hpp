// An operation together with its position in a plan, which the errors about it state.
#pragma once

#include <fmt/format.h>

#include <string>

#include "models/algorithms/mscclpp/complaints.hpp"
#include "models/algorithms/mscclpp/plan.hpp"

namespace moire::mscclpp {

struct OperationSite {
  const Plan& plan;
  std::size_t gpu;
  std::size_t block;
  const Operation& op;
  std::string number;
  const Operation* pipeline;  // the pipeline that contains the operation, or null
};

// Calls visit(site) for all operations in the order of the plan. A pipeline comes before its inner operations.
template <class Visit>
void for_each_site(const Plan& plan, Visit visit) {
  for (std::size_t g = 0; g < plan.gpus.size(); ++g) {
    for (std::size_t b = 0; b < plan.gpus[g].blocks.size(); ++b) {
      const auto& operations = plan.gpus[g].blocks[b].operations;
      for (std::size_t i = 0; i < operations.size(); ++i) {
        visit(OperationSite{plan, g, b, operations[i], fmt::format("{}", i), nullptr});
        for (std::size_t k = 0; k < operations[i].inner.size(); ++k) {
          visit(OperationSite{plan, g, b, operations[i].inner[k], fmt::format("{}.{}", i, k), &operations[i]});
        }
      }
    }
  }
}

// Reports an error of the operation. `what` follows its position in the message.
inline void error_at(const OperationSite& site, const std::string& what, const std::string& remedy,
                     Complaints& complaints) {
  complaints.error(site.plan.place(site.op), where(site.gpu, site.block, site.number, site.op) + " " + what, remedy);
}

}  // namespace moire::mscclpp
