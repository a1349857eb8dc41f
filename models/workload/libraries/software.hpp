// The software of a machine: its GEMM library and its collective library. YAML files name them within the hardware
// (`gemm:` of a GPU, `library:` of a system), but the hardware specs do not contain them; operators get both.
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
  std::vector<std::string> followed{};  // values adapted because another one was changed, for reports
};

struct EquippedGpu : machine::GpuSpec {
  GemmLibrarySpec gemm{};
};

// Reads the file of a system or a GPU, or its node inside another file at `path`. Reports the errors of hardware and
// software together.
std::optional<EquippedSystem> read_system(const config::Node& node, config::Diagnostics& diagnostics,
                                          std::vector<config::Provenance>* provenance = nullptr, std::string path = {});
std::optional<EquippedGpu> read_gpu(const config::Node& node, config::Diagnostics& diagnostics,
                                    std::vector<config::Provenance>* provenance = nullptr, std::string path = {});

}  // namespace moire::libraries
