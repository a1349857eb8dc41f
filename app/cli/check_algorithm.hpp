// moire check of MSCCL algorithms: the verdict on one, as text and as JSON.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "sim/config/diagnostics.hpp"

namespace moire::cli {

struct AlgorithmCheck {
  int status = 0;     // as the command's
  std::string table;  // empty where the file cannot be read
  nlohmann::ordered_json json;
};

// Errors and warnings go to `diagnostics`.
AlgorithmCheck check_algorithm(const std::string& file, std::optional<std::uint64_t> bytes,
                               config::Diagnostics& diagnostics);

}  // namespace moire::cli
