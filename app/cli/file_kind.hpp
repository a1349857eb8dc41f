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
  host_memory,
  reduction,
  library,
  gemm_library,
  plan_library,
  transformer_model,
  codec,
  wg_trace
};
std::string_view to_string(FileKind kind);

// True if the file name ends in .csv or .csv.zst, as the names of WG traces (recorded phases of workgroups) do. Also
// true for .csv.gz, because the reader of traces explains that it does not read this compression.
bool is_wg_trace(const std::filesystem::path& file);

// Returns the kind that has the most of the file's top-level keys. Returns nothing if two kinds have equally many of
// them.
std::optional<FileKind> kind_of(const config::Node& tree);

}  // namespace moire::cli
