// The software of a machine: its GEMM library and its collective library. YAML files name the libraries within the
// hardware (`gemm:` of a GPU, `library:` of a system), but the hardware specs (machine::SystemSpec) do not contain
// them. An EquippedSystem has both, and operators get an EquippedSystem.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/hardware/machine/spec.hpp"
#include "models/workload/libraries/collective_library.hpp"
#include "models/workload/libraries/gemm_library.hpp"
#include "sim/config/config.hpp"

namespace moire::libraries {

struct SoftwareSpec {
  GemmLibrarySpec gemm{};
  std::optional<LibrarySpec> library{};  // for collectives that name no library
};

// A machine with its software.
struct EquippedSystem : machine::SystemSpec {
  SoftwareSpec software{};
  std::vector<std::string> followed{};  // notes about values that were adapted because another value was changed
};

struct EquippedGpu : machine::GpuSpec {
  GemmLibrarySpec gemm{};
};

// Return the system or the GPU that a YAML node describes. `path` is the path of the node if it is inside another file.
// If there are errors, they report those of hardware and software together and return nothing.
std::optional<EquippedSystem> read_system(const config::Node& node, config::Diagnostics& diagnostics,
                                          std::vector<config::Provenance>* provenance = nullptr, std::string path = {});
std::optional<EquippedGpu> read_gpu(const config::Node& node, config::Diagnostics& diagnostics,
                                    std::vector<config::Provenance>* provenance = nullptr, std::string path = {});

}  // namespace moire::libraries
