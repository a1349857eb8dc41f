#include "app/cli/scenario_file.hpp"

#include <fmt/format.h>

#include "app/cli/file_kind.hpp"

namespace moire::cli {

namespace {

// A file that is plainly something else deserves a better answer than its keys being unknown.
bool is_a_scenario(const std::string& file, config::Diagnostics& diagnostics) {
  std::optional<FileKind> kind;
  config::Place place;
  if (is_wg_trace(file)) {
    kind = FileKind::wg_trace;
    place.source = std::make_shared<const config::Source>(config::Source{file, {}, false, {}});
  } else {
    config::Diagnostics ignored;  // told when the scenario is loaded
    const auto tree = config::load(file, {}, ignored);
    if (!tree) return true;
    kind = kind_of(*tree);
    place = tree->place;
  }
  if (!kind || kind == FileKind::scenario) return true;
  diagnostics.error(place, fmt::format("this is a {}, not a scenario", to_string(*kind)),
                    kind == FileKind::validation
                        ? fmt::format("run it by 'moire validate {}'", file)
                        : fmt::format("'moire check {}' validates it; a scenario names a system and a program", file));
  return false;
}

}  // namespace

std::optional<study::Scenario> load_scenario_file(const std::string& file, const std::vector<std::string>& sets,
                                                  config::Diagnostics& diagnostics) {
  if (!is_a_scenario(file, diagnostics)) return std::nullopt;
  return study::load_scenario(file, sets, diagnostics);
}

}  // namespace moire::cli
