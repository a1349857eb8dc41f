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
  std::string gpu;                            // hardware file of the GPUs; empty: the dump determines it
  std::string nic;                            // likewise for the NICs; "none": the system gets no NICs
  std::optional<link::Wiring> wiring;
  std::string graph;                       // a graph dump of NCCL for comparison; empty: none
  std::filesystem::path out_folder = ".";  // folder of the result, to which its paths are relative
};

// Converts a dump file. The resulting system passes `moire check`. If no system can be made of the dump, reports why
// and returns nothing.
std::optional<Imported> import_nccl_topo(const std::string& file, const NcclTopoOptions& options,
                                         config::Diagnostics& diagnostics);
// The same for a text in memory; `file` is its name in messages.
std::optional<Imported> import_nccl_topo_text(const std::string& file, const std::string& text,
                                              const NcclTopoOptions& options, config::Diagnostics& diagnostics);

}  // namespace moire::importing
