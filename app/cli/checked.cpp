#include "app/cli/checked.hpp"

#include <fmt/format.h>

namespace moire::cli {

using report::Field;
namespace in = report::in;

Checked refused(const std::string& file, const std::string& kind) {
  Checked checked{bad_input, {}};
  checked.document.add(Field{"file", file});
  if (!kind.empty()) checked.document.add(Field{"kind", kind});
  checked.document.add(Field{"ok", false});
  return checked;
}

Checked judged(const std::string& file, const std::string& kind, bool ok,
               const std::vector<std::pair<std::string, std::string>>& found, report::Cell::Record fields) {
  Checked checked{ok ? done : check_failed, {}};
  std::vector<std::string> lines;
  for (const auto& [name, value] : found) lines.push_back(fmt::format("{:<14}{}", name, value));
  checked.document.add(report::Terms{{{fmt::format("{}: {} ({})", file, ok ? "ok" : "refused", kind), lines}}},
                       in::people);
  checked.document.add(Field{"file", file});
  checked.document.add(Field{"kind", kind});
  checked.document.add(Field{"ok", ok});
  for (Field& field : fields) checked.document.add(std::move(field));
  return checked;
}

}  // namespace moire::cli
