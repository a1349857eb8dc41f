#pragma once
#include <optional>
#include <string>

#include "models/msccl/algorithm.hpp"
#include "sim/config/diagnostics.hpp"
namespace moire::models::msccl {
std::optional<Algorithm> read_xml(const std::string& file, config::Diagnostics& diagnostics);
}
