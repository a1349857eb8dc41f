// From a topology dump of NCCL or RCCL to a system file.
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
  std::filesystem::path configs = "configs";  // holds hardware/ and libraries/
  std::string gpu;                            // hardware file; empty: by what the dump says
  std::string nic;                            // the same; "none": leave NICs out
  std::optional<link::Wiring> wiring;
  std::string graph;                       // graph dump to compare with
  std::filesystem::path out_folder = ".";  // where the result will lie: its paths start there
};

// Nothing, and the reasons, where no system can be made of it. The result has passed what `moire check` asks for.
std::optional<Imported> import_nccl_topo(const std::string& file, const NcclTopoOptions& options,
                                         config::Diagnostics& diagnostics);
// The same of a text; `file` names it.
std::optional<Imported> import_nccl_topo_text(const std::string& file, const std::string& text,
                                              const NcclTopoOptions& options, config::Diagnostics& diagnostics);

}  // namespace moire::importing
