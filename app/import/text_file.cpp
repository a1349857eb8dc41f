#include "app/import/text_file.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

namespace moire::importing {

namespace fs = std::filesystem;

std::optional<std::string> read_text_file(const std::string& file, std::uintmax_t most,
                                          config::Diagnostics& diagnostics) {
  const config::Place place{std::make_shared<const config::Source>(config::Source{file, {}, false, {}}), 0, 0};
  std::error_code error;
  const auto status = fs::status(file, error);
  if (!fs::exists(status)) {
    diagnostics.error(place, "no such file", "name a file that is there");
    return std::nullopt;
  }
  if (fs::is_directory(status)) {
    diagnostics.error(place, "a folder", "name a file in it");
    return std::nullopt;
  }
  std::ifstream stream(file, std::ios::binary);
  std::string text;
  char block[65536];
  while (stream.read(block, sizeof block) || stream.gcount() > 0) {
    text.append(block, static_cast<std::size_t>(stream.gcount()));
    if (text.size() > most) {
      diagnostics.error(place, fmt::format("larger than {} MiB", most >> 20), "no file of this kind is");
      return std::nullopt;
    }
  }
  if (!stream.eof()) {
    diagnostics.error(place, "cannot be read", "check its permissions");
    return std::nullopt;
  }
  return text;
}

}  // namespace moire::importing
