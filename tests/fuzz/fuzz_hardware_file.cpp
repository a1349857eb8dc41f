// libFuzzer: reads any bytes as a GPU file that calibration changes. An accepted file is written in the layout of
// configs/hardware. If this text is read again, it must give the same GPU and the same text, and it must contain the
// changed values.
#include <cstdlib>
#include <string>

#include "app/evidence/calibrate/hardware_file.hpp"
#include "app/evidence/calibrate/yaml_layout.hpp"

namespace {

using namespace moire;

void require(bool condition) {
  if (!condition) std::abort();
}

bool names_files(const config::Node& node) {
  if (node.is_scalar()) return !node.quoted && node.text.ends_with(".yaml");
  for (const config::Node& item : node.items)
    if (names_files(item)) return true;
  for (const config::Node::Entry& entry : node.entries)
    if (names_files(entry.value)) return true;
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  config::Diagnostics diagnostics;
  const auto tree = config::load_text("input.yaml", text, {}, diagnostics, {.includes = false, .nodes = 10'000});
  if (!tree || !tree->is_map() || names_files(*tree)) return 0;  // a file that names other files is not tested here
  config::Diagnostics told;
  auto file = calibrate::HardwareFile::load_text("input.yaml", text, told);
  require(file.has_value() == told.ok());
  if (!file) return 0;
  const std::string written = file->yaml();
  const auto again = calibrate::HardwareFile::load_text("again.yaml", written, told);
  require(again.has_value() && told.ok());
  require(again->yaml() == written);
  for (const char* path : {"hbm.bandwidth", "hbm.unloaded_latency", "host.launch_latency"}) {
    const auto value = file->number(path);
    require(value == again->number(path));
    if (!value || *value <= 0) continue;
    file->set(path, *value);
    require(file->number(path) == value);
  }
  return 0;
}
