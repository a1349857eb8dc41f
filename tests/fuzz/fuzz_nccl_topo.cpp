// libFuzzer: reads any bytes as a topology dump and as a graph dump of NCCL. The system file that is made from
// an accepted topology dump must be printable ASCII. A refused dump must have an error message.
#include <cstdlib>
#include <string>

#include "app/import/nccl_graph.hpp"
#include "app/import/nccl_system.hpp"
#include "tests/support/source_dir.hpp"

namespace {

using namespace moire;

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  config::Diagnostics of_graph;
  require(importing::read_nccl_graphs("graph.xml", text, of_graph).has_value() == of_graph.ok());

  importing::NcclTopoOptions options;
  options.configs = support::source_dir() + "/configs";
  config::Diagnostics diagnostics;
  const auto imported = importing::import_nccl_topo_text("dump.xml", text, options, diagnostics);
  require(imported.has_value() == diagnostics.ok());
  if (imported) {
    for (const char c : imported->yaml) require(c == '\n' || (c >= 0x20 && c < 0x7f));
  }
  return 0;
}
