// moire check of MSCCL++ execution plans: the verdict on one, as text and as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "sim/config/diagnostics.hpp"

namespace moire::cli {

struct PlanCheck {
  int status = 0;     // as the command's
  std::string table;  // empty where the plan cannot be judged
  nlohmann::ordered_json json;
};

// By its extension, .json.
bool is_plan(const std::string& file);

// Errors go to `diagnostics`.
PlanCheck check_plan(const std::string& file, config::Diagnostics& diagnostics);

}  // namespace moire::cli
