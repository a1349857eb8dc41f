#include "app/import/system_file.hpp"

#include <fmt/format.h>

namespace moire::importing {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t columns = 118;

std::string path_from(const fs::path& path, const fs::path& folder) {
  std::error_code error;
  const fs::path from = fs::weakly_canonical(folder.empty() ? fs::path(".") : folder, error);
  const fs::path to = fs::weakly_canonical(path, error);
  const fs::path found = to.lexically_relative(from);
  return found.empty() ? to.string() : found.string();
}

std::string list(const std::string& head, const std::vector<std::string>& items) {
  if (items.empty()) return {};
  std::string out = "#\n# " + head + "\n";
  for (const std::string& item : items) out += wrapped(item, "# - ", "#   ");
  return out;
}

}  // namespace

std::string wrapped(const std::string& text, const std::string& first, const std::string& rest) {
  std::string out;
  std::string line = first;
  bool empty = true;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    at = end + 1;
    if (word.empty()) continue;
    if (!empty && line.size() + 1 + word.size() > columns) {
      out += line + "\n";
      line = rest;
      empty = true;
    }
    line += (empty ? "" : " ") + word;
    empty = false;
  }
  return out + line + "\n";
}

std::string printable(std::string_view text) {
  constexpr std::size_t longest = 80;
  std::string out;
  for (const char c : text.substr(0, longest)) out += c >= 0x20 && c < 0x7f ? c : '?';
  if (text.size() > longest) out += "...";
  return out;
}

std::string to_yaml(const SystemFile& system, const fs::path& folder) {
  std::string out = wrapped(system.title, "# ", "# ");
  out += list("What the dump states:", system.facts);
  out += list("What this file leaves out or states differently:", system.notes);
  out += "description: >-\n" + wrapped(system.description, "  ", "  ");
  out += fmt::format("nodes: 1\nnode:\n  gpus: {}\n  gpu: {}\n  wiring: {}\n", system.gpus,
                     path_from(system.gpu, folder), system.wiring);
  if (system.links_per_pair > 0) out += fmt::format("  links_per_pair: {}\n", system.links_per_pair);
  if (system.nics > 0) out += fmt::format("  nics: {}\n  nic: {}\n", system.nics, path_from(system.nic, folder));
  if (!system.library.empty()) out += fmt::format("library: {}\n", path_from(system.library, folder));
  return out;
}

}  // namespace moire::importing
