// Which operations of a plan a channel program cannot express, because channels cannot do them on a machine or because
// their time is not modelled.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "models/algorithms/mscclpp/plan.hpp"

namespace moire::mscclpp {

// Parts of an error message about an operation.
struct Refusal {
  std::string what;  // follows the operation's position
  std::string remedy;
};

// Returns why an operation of GPU `gpu` is refused; nothing if it is not. A node has `node` GPUs. `in_pipeline` states
// whether the operation is inside of a pipeline.
std::optional<Refusal> refusal(const Plan& plan, std::size_t gpu, const Operation& op, bool in_pipeline,
                               std::int32_t node);

}  // namespace moire::mscclpp
