#include "models/workload/libraries/software.hpp"

#include "models/hardware/machine/follow.hpp"

namespace moire::libraries {

std::optional<EquippedSystem> read_system(const config::Node& written, config::Diagnostics& diagnostics,
                                          std::vector<config::Provenance>* provenance, std::string path) {
  std::vector<std::string> told;
  const config::Node node = machine::with_what_follows(written, told);
  auto system = config::parse<machine::SystemSpec>(node, diagnostics, provenance, path);
  SoftwareSpec software;
  const bool gemm = config::read_at(node, {"node", "gpu", "gemm"}, software.gemm, diagnostics, provenance, path);
  const bool library = config::read_at(node, {"library"}, software.library, diagnostics, provenance, path);
  if (!system || !gemm || !library) return std::nullopt;
  return EquippedSystem{std::move(*system), std::move(software), std::move(told)};
}

std::optional<EquippedGpu> read_gpu(const config::Node& node, config::Diagnostics& diagnostics,
                                    std::vector<config::Provenance>* provenance, std::string path) {
  auto gpu = config::parse<machine::GpuSpec>(node, diagnostics, provenance, path);
  GemmLibrarySpec gemm;
  if (!config::read_at(node, {"gemm"}, gemm, diagnostics, provenance, path) || !gpu) return std::nullopt;
  return EquippedGpu{std::move(*gpu), std::move(gemm)};
}

}  // namespace moire::libraries
