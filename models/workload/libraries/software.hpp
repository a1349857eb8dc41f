// The software of a machine: its library of matrix products and its collective library. Files name them beside the
// hardware (`gemm:` of a GPU, `library:` of a system), whose own specs leave them out; operators are handed both.
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
  std::optional<LibrarySpec> library{};  // of collectives that name none
};

// A machine and what is installed on it.
struct EquippedSystem : machine::SystemSpec {
  SoftwareSpec software{};
  std::vector<std::string> followed{};  // values that went with changed ones, for reports
};

struct EquippedGpu : machine::GpuSpec {
  GemmLibrarySpec gemm{};
};

// A system's or a GPU's file, or the same inside another file at `path`: everything that is wrong with hardware and
// software is told at once.
std::optional<EquippedSystem> read_system(const config::Node& node, config::Diagnostics& diagnostics,
                                          std::vector<config::Provenance>* provenance = nullptr, std::string path = {});
std::optional<EquippedGpu> read_gpu(const config::Node& node, config::Diagnostics& diagnostics,
                                    std::vector<config::Provenance>* provenance = nullptr, std::string path = {});

}  // namespace moire::libraries
