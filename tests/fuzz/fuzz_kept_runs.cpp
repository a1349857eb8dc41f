// libFuzzer: reads any bytes as the file in which a study keeps its finished runs. An incomplete run at the end must be
// removed, a file of another kind must not change, and a run that is kept after reading must be appended.
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "app/study/kept_runs.hpp"

namespace {

using namespace moire;

void require(bool condition) {
  if (!condition) std::abort();
}

const std::string& file() {
  static const std::string name = [] {
    const char* memory = "/dev/shm";
    return std::string(access(memory, W_OK) == 0 ? memory : "/tmp") + "/moire_fuzz_runs." + std::to_string(getpid());
  }();
  return name;
}

void write(const std::string& bytes) { std::ofstream(file(), std::ios::binary) << bytes; }

std::string content() {
  std::ifstream in(file(), std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

constexpr const char* key = "00f067aa0ba902b7";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  write(bytes);
  const study::ChildReport report{
      .text = std::string("packed\n\0bytes", 13), .wall_seconds = 0.25, .peak_memory_bytes = 4096};
  try {
    study::KeptRuns runs(file(), key, true);
    const std::string head = std::string("moire runs of ") + key + "\n";
    const std::string taken = content();
    require(taken == head || bytes.starts_with(taken));
    require(taken.starts_with(head));
    require(runs.known() == 0 || taken.size() > head.size());
    for (std::size_t number = 0; number < 10; ++number) {
      if (const auto* known = runs.known(number, nullptr)) require(known->text.size() < bytes.size());
    }
    runs.keep(3, report, nullptr);
    const std::string kept = content();
    require(kept.starts_with(taken) && kept.size() > taken.size());
    runs.not_needed();
  } catch (const core::RunFailure&) {
    require(content() == bytes);
    unlink(file().c_str());
    return 0;
  }
  require(access(file().c_str(), F_OK) != 0);
  return 0;
}
