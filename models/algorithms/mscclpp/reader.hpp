// Reads execution plans of MSCCL++ from JSON, in schema 1 (of Azure/msccl-tools, with "inputChunks") and schema 2 (of
// microsoft/mscclpp since 0.7, with "input_chunks").
#pragma once

#include <optional>
#include <string>

#include "models/algorithms/mscclpp/plan.hpp"
#include "sim/config/diagnostics.hpp"

namespace moire::mscclpp {

inline constexpr std::uintmax_t most_plan_bytes = 64 << 20;

// True if a text may be a plan: its first character that is no space is "{".
bool looks_like_plan(const std::string& text);

// Returns the plan, or reports errors and returns nothing if the text is not a plan: invalid JSON, missing keys, ids
// that name nothing. check() must then check the runtime's limits and the result that the collective requires.
std::optional<Plan> read_plan(const std::string& name, const std::string& text, config::Diagnostics& diagnostics);

}  // namespace moire::mscclpp
