// Recognizes what a file is, by its extension and its top-level keys.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

#include "sim/config/node.hpp"

namespace moire::cli {

enum class FileKind {
  scenario,
  validation,
  system,
  gpu,
  nic,
  reduction,
  library,
  gemm_library,
  plan_library,
  transformer_model,
  codec,
  wg_trace
};
std::string_view to_string(FileKind kind);

// By name: WG traces end in .csv or .csv.zst.
bool is_wg_trace(const std::filesystem::path& file);

// By content: the kind that knows most of the top-level keys; empty if no single kind knows most.
std::optional<FileKind> kind_of(const config::Node& tree);

}  // namespace moire::cli
