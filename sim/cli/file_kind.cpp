#include "sim/cli/file_kind.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "models/blas/spec.hpp"
#include "models/library/spec.hpp"
#include "models/machine/spec.hpp"
#include "sim/study/scenario.hpp"
#include "sim/study/validate/validation.hpp"

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
    case FileKind::library:
      return "collective library";
    case FileKind::gemm_library:
      return "GEMM library";
    case FileKind::wg_trace:
      return "WG trace";
  }
  return "";
}

bool is_wg_trace(const std::filesystem::path& file) { return file.extension() == ".csv" || file.extension() == ".zst"; }

std::optional<FileKind> kind_of(const config::Node& tree) {
  const std::array<std::pair<FileKind, const config::Description*>, 7> kinds = {{
      {FileKind::scenario, &config::description<study::ScenarioSpec>()},
      {FileKind::validation, &config::description<study::validate::ValidationSpec>()},
      {FileKind::system, &config::description<models::machine::SystemSpec>()},
      {FileKind::gpu, &config::description<models::machine::GpuSpec>()},
      {FileKind::nic, &config::description<models::nic::NicSpec>()},
      {FileKind::library, &config::description<models::library::LibrarySpec>()},
      {FileKind::gemm_library, &config::description<models::blas::LibrarySpec>()},
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
