#include "app/cli/file_kind.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "app/evidence/validate/validation.hpp"
#include "app/study/scenario.hpp"
#include "models/hardware/machine/spec.hpp"
#include "models/workload/codec/spec.hpp"
#include "models/workload/libraries/collective_library.hpp"
#include "models/workload/libraries/gemm_library.hpp"
#include "models/workload/libraries/plan_library.hpp"
#include "models/workload/transformer/model.hpp"

namespace moire::cli {

std::string_view to_string(FileKind kind) {
  switch (kind) {
    case FileKind::scenario:
      return "scenario";
    case FileKind::validation:
      return "validation file";
    case FileKind::system:
      return "system";
    case FileKind::gpu:
      return "GPU";
    case FileKind::nic:
      return "NIC";
    case FileKind::host_memory:
      return "memory of a host";
    case FileKind::reduction:
      return "reduction in switches";
    case FileKind::library:
      return "collective library";
    case FileKind::gemm_library:
      return "GEMM library";
    case FileKind::plan_library:
      return "library of plans";
    case FileKind::transformer_model:
      return "transformer model";
    case FileKind::codec:
      return "codec";
    case FileKind::wg_trace:
      return "WG trace";
  }
  return "";
}

bool is_wg_trace(const std::filesystem::path& file) {
  // A .csv.gz counts, too, because the reader of traces refuses it with the advice to unpack it.
  if (file.extension() == ".zst" || file.extension() == ".gz") return file.stem().extension() == ".csv";
  return file.extension() == ".csv";
}

std::optional<FileKind> kind_of(const config::Node& tree) {
  const std::array<std::pair<FileKind, const config::Description*>, 12> kinds = {{
      {FileKind::scenario, &config::description<study::ScenarioSpec>()},
      {FileKind::validation, &config::description<validate::ValidationSpec>()},
      {FileKind::system, &config::description<machine::SystemSpec>()},
      {FileKind::gpu, &config::description<machine::GpuSpec>()},
      {FileKind::nic, &config::description<nic::NicSpec>()},
      {FileKind::host_memory, &config::description<host::MemorySpec>()},
      {FileKind::reduction, &config::description<fabric::ReductionSpec>()},
      {FileKind::library, &config::description<libraries::LibrarySpec>()},
      {FileKind::gemm_library, &config::description<libraries::GemmLibrarySpec>()},
      {FileKind::plan_library, &config::description<libraries::PlanLibrarySpec>()},
      {FileKind::transformer_model, &config::description<transformer::ModelSpec>()},
      {FileKind::codec, &config::description<codec::CodecSpec>()},
  }};
  std::optional<FileKind> best;
  std::ptrdiff_t most = 0;
  for (const auto& [kind, description] : kinds) {
    const auto known =
        std::count_if(tree.entries.begin(), tree.entries.end(),
                      [d = description](const config::Node::Entry& entry) { return d->find(entry.key) != nullptr; });
    if (known > most) {
      most = known;
      best = kind;
    } else if (known == most) {
      best.reset();
    }
  }
  return best;
}

}  // namespace moire::cli
