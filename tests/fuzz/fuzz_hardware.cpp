// libFuzzer: reads any bytes as the file of a system, a GPU, a NIC or a library, and builds the machine if it has few
// GPUs. Names of shipped files are replaced by the contents of these files, which are read once. A refused file
// must have an error message.
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>

#include "app/study/prepare.hpp"
#include "models/hardware/machine/spec.hpp"
#include "models/workload/libraries/plan_library.hpp"
#include "models/workload/libraries/software.hpp"
#include "tests/support/source_dir.hpp"

namespace {

using namespace moire;

void require(bool condition) {
  if (!condition) std::abort();
}

// The shipped files that systems and GPUs may name, by file name without folder.
const std::map<std::string, config::Node>& shipped() {
  static const std::map<std::string, config::Node> files = [] {
    std::map<std::string, config::Node> made;
    for (const char* folder : {"configs/hardware", "configs/libraries", "configs/gemm", "tests/data"}) {
      for (const auto& file : std::filesystem::directory_iterator(support::source_dir() + "/" + folder)) {
        config::Diagnostics diagnostics;
        if (file.path().extension() != ".yaml") continue;
        if (auto tree = config::load(file.path(), {}, diagnostics))
          made.emplace(file.path().filename().string(), std::move(*tree));
      }
    }
    return made;
  }();
  return files;
}

void include(config::Node& node) {
  if (node.is_scalar() && !node.quoted && node.text.ends_with(".yaml")) {
    const auto known = shipped().find(std::filesystem::path(node.text).filename().string());
    if (known != shipped().end()) node = known->second;
    return;
  }
  for (config::Node& item : node.items) include(item);
  for (config::Node::Entry& entry : node.entries) include(entry.value);
}

template <class Spec>
void read(const config::Node& tree) {
  config::Diagnostics diagnostics;
  require(config::parse<Spec>(tree, diagnostics).has_value() == diagnostics.ok());
}

void read_system(const config::Node& tree) {
  config::Diagnostics diagnostics;
  std::vector<config::Provenance> provenance;
  const auto system = libraries::read_system(tree, diagnostics, &provenance);
  require(system.has_value() == diagnostics.ok());
  constexpr std::int64_t most = 64;  // GPUs or nodes; the time to build a machine grows with their number
  if (!system || system->nodes > most || system->node.gpus > most || system->ranks() > most) return;
  const auto machine = study::check_system(*system, tree, diagnostics);
  if (system->network.model != machine::NetworkModel::flow) require((machine != nullptr) == diagnostics.ok());
}

void read_gpu(const config::Node& tree) {
  config::Diagnostics diagnostics;
  require(libraries::read_gpu(tree, diagnostics).has_value() == diagnostics.ok());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  config::Diagnostics diagnostics;
  auto tree = config::load_text("input.yaml", text, {}, diagnostics, {.includes = false, .nodes = 10'000});
  if (!tree || !diagnostics.ok() || !tree->is_map())
    return 0;  // the errors of the YAML reader are tested by fuzz_config
  include(*tree);
  if (tree->find("node")) {
    read_system(*tree);
  } else if (tree->find("compute") || tree->find("hbm")) {
    read_gpu(*tree);
  } else if (tree->find("tiles") || tree->find("kernels")) {
    read<libraries::GemmLibrarySpec>(*tree);
  } else if (tree->find("plans")) {
    read<libraries::PlanLibrarySpec>(*tree);
  } else if (tree->find("slots") || tree->find("max_channels")) {
    read<libraries::LibrarySpec>(*tree);
  } else {
    read<nic::NicSpec>(*tree);
  }
  return 0;
}
