// Converts a topology dump of NCCL or RCCL to a system file.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "app/import/importer.hpp"
#include "models/hardware/link/spec.hpp"
#include "sim/config/diagnostics.hpp"

namespace moire::importing {

struct NcclTopoOptions {
  std::filesystem::path configs = "configs";  // contains hardware/ and libraries/
  std::string gpu;                            // hardware file; empty: determined from the dump
  std::string nic;                            // as `gpu`; "none": no NICs
  std::optional<link::Wiring> wiring;
  std::string graph;                       // a graph dump to compare with; empty: none
  std::filesystem::path out_folder = ".";  // folder of the result, to which its paths are relative
};

// Returns nothing and reports why if no system can be made. The result passes `moire check`.
std::optional<Imported> import_nccl_topo(const std::string& file, const NcclTopoOptions& options,
                                         config::Diagnostics& diagnostics);
// The same for a text in memory; `file` is its name in messages.
std::optional<Imported> import_nccl_topo_text(const std::string& file, const std::string& text,
                                              const NcclTopoOptions& options, config::Diagnostics& diagnostics);

}  // namespace moire::importing
