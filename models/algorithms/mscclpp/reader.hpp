// Reads execution plans of MSCCL++ from JSON, in schema 1 (the older compiler's, with "inputChunks") and 2
// ("input_chunks").
#pragma once

#include <optional>
#include <string>

#include "models/algorithms/mscclpp/plan.hpp"
#include "sim/config/diagnostics.hpp"

namespace moire::mscclpp {

inline constexpr std::uintmax_t most_plan_bytes = 64 << 20;

// True if a text looks like a plan: JSON with "gpus".
bool looks_like_plan(const std::string& text);

// Reports errors and returns nothing if the text is not a plan: invalid JSON, missing keys, ids that name nothing.
// check judges the runtime's limits and what the collective requires.
std::optional<Plan> read_plan(const std::string& name, const std::string& text, config::Diagnostics& diagnostics);

}  // namespace moire::mscclpp
