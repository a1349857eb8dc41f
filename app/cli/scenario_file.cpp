#include "app/cli/scenario_file.hpp"

#include <fmt/format.h>

#include "app/cli/file_kind.hpp"

namespace moire::cli {

namespace {

// Reports that the file is of another kind. This helps the user more than a list of unknown keys would.
void reject(const std::string& file, FileKind kind, const config::Place& place, config::Diagnostics& diagnostics) {
  diagnostics.error(place, fmt::format("this is a {}, not a scenario", to_string(kind)),
                    kind == FileKind::validation
                        ? fmt::format("run it with 'moire validate {}'", file)
                        : fmt::format("'moire check {}' checks it; a scenario names a system and a program", file));
}

}  // namespace

std::optional<study::Scenario> load_scenario_file(const std::string& file, const std::vector<std::string>& sets,
                                                  config::Diagnostics& diagnostics) {
  if (is_wg_trace(file)) {
    const auto source = std::make_shared<const config::Source>(config::Source{file, {}, false, {}});
    reject(file, FileKind::wg_trace, {source, 0, 0}, diagnostics);
    return std::nullopt;
  }
  config::Diagnostics loading;
  auto overrides = config::parse_sets(sets, loading);
  auto tree = config::load(file, {}, loading);
  const auto kind = tree ? kind_of(*tree) : std::nullopt;
  if (kind && kind != FileKind::scenario) {
    reject(file, *kind, tree->place, diagnostics);
    return std::nullopt;
  }
  diagnostics = std::move(loading);
  if (!tree) return std::nullopt;
  return study::scenario_of(file, std::move(*tree), std::move(overrides), diagnostics);
}

}  // namespace moire::cli
