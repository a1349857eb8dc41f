// Execution plans of MSCCL++ from JSON: schema 1 (of the older compiler, "inputChunks") and 2 ("input_chunks").
#pragma once

#include <optional>
#include <string>

#include "models/algorithms/mscclpp/plan.hpp"
#include "sim/config/diagnostics.hpp"

namespace moire::mscclpp {

inline constexpr std::uintmax_t most_plan_bytes = 64 << 20;

// Whether a text may be meant as a plan: JSON with gpus.
bool looks_like_plan(const std::string& text);

// Nothing, and the reasons, where it cannot be taken for a plan: no JSON, keys missing, ids that name nothing. What the
// runtime's limits and the collective ask for is check's business.
std::optional<Plan> read_plan(const std::string& name, const std::string& text, config::Diagnostics& diagnostics);

}  // namespace moire::mscclpp
