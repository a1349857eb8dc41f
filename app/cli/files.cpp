#include "app/cli/files.hpp"

#include <fmt/format.h>

#include "sim/core/failure.hpp"
#include "sim/process/standard_streams.hpp"

namespace moire::cli {

namespace fs = std::filesystem;

void write_file(const fs::path& path, const std::string& text) {
  process::OutputFile file(path);
  write_file(file, text);
}

void write_file(process::OutputFile& file, const std::string& text) {
  file.stream() << text;
  file.commit();
  process::tell("wrote {}\n", file.path().string());
}

void make_folder(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw core::RunFailure(fmt::format("cannot create the folder '{}': {}", folder, error.message()));
}

CLI::Validator a_name() {
  return {[](const std::string& text) { return std::string(text.empty() ? "the name is empty" : ""); }, ""};
}

}  // namespace moire::cli
