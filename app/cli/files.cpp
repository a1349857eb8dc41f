#include "app/cli/files.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "app/study/child.hpp"

namespace moire::cli {

namespace fs = std::filesystem;

void write_quietly(const fs::path& path, const std::string& text) {
  errno = 0;
  std::ofstream out(path, std::ios::binary);
  out << text;
  if (!out.flush()) throw core::RunFailure(fmt::format("cannot write '{}': {}", path.string(), std::strerror(errno)));
}

void write_file(const fs::path& path, const std::string& text) {
  write_quietly(path, text);
  fmt::print(stderr, "wrote {}\n", path.string());
}

void make_folder(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw core::RunFailure(fmt::format("cannot make the folder '{}': {}", folder, error.message()));
}

}  // namespace moire::cli
