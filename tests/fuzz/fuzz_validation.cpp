// libFuzzer: reads any bytes as a validation file, in a folder with a scenario, a trace and tables of measured values,
// and checks it with all files that it names. A refused file must have an error message.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "app/evidence/validate/validation.hpp"
#include "sim/core/memory_limit.hpp"
#include "tests/support/source_dir.hpp"

namespace {

using namespace moire;
namespace fs = std::filesystem;

void require(bool condition) {
  if (!condition) std::abort();
}

const fs::path& folder() {
  static const fs::path made = [] {
    const char* memory = "/dev/shm";
    fs::path path =
        fs::path(access(memory, W_OK) == 0 ? memory : "/tmp") / ("moire_fuzz_validation." + std::to_string(getpid()));
    fs::create_directories(path / "validate");
    for (const char* beside : {"golden", "data"})
      fs::create_symlink(support::source_dir() + "/tests/" + beside, path / beside);
    fs::create_symlink(support::source_dir() + "/configs", path / "configs");
    for (const auto& file : fs::directory_iterator(support::source_dir() + "/tests/validate"))
      fs::create_symlink(file.path(), path / "validate" / file.path().filename());
    std::atexit([] { fs::remove_all(folder()); });
    core::set_memory_limit(100e6);  // a fuzzer soon finds files with a million GPUs
    return path;
  }();
  return made;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  config::Diagnostics parsing;
  const auto tree = config::load_text("input.yaml", text, {}, parsing, {.includes = false, .nodes = 10'000});
  if (!tree || !tree->is_map() || !tree->find("groups")) return 0;  // fuzz_config tests the YAML reader
  const fs::path file = folder() / "validate" / "input.yaml";
  std::ofstream(file, std::ios::binary) << text;
  config::Diagnostics diagnostics;
  study::Preparer preparer;
  const auto validation = validate::load_validation(file, std::vector<std::string>{}, false, preparer, diagnostics);
  require(validation.has_value() == diagnostics.ok());
  if (validation) require(validation->groups.size() == validation->group_names.size());
  return 0;
}
