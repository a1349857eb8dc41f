// libFuzzer: reads any bytes as a scenario, and lists its runs and their parameters. Systems are not built,
// because a fuzzer soon finds files with a million GPUs.
#include <cstdlib>
#include <string>

#include "app/study/prepare.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace moire;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const config::LoadOptions options{.includes = false, .nodes = 10'000};
  config::Diagnostics diagnostics;
  auto tree = config::load_text("input.yaml", text, {}, diagnostics, options);
  if (!tree) return 0;
  const study::Scenario scenario = study::read_scenario(std::move(*tree), {}, diagnostics);
  const std::size_t runs = scenario.runs();
  if (runs == 0) std::abort();
  for (std::size_t number = 0; number < runs; number += 1 + runs / 8) {
    const study::Run run = study::run_of(scenario, number);
    if (run.point >= scenario.points()) std::abort();
    study::parameters_of(scenario, run);
  }
  return 0;
}
