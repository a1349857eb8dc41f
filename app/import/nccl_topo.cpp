// The importer nccl-topo and its options.
#include "app/import/importer.hpp"
#include "app/import/nccl_system.hpp"

namespace moire::importing {

namespace {

using link::Wiring;

const std::map<std::string, Wiring> wirings = {
    {"none", Wiring::none}, {"nvswitch", Wiring::nvswitch}, {"full_mesh", Wiring::full_mesh}, {"pcie", Wiring::pcie}};

std::optional<Imported> run(const std::string& file, const Given& given, const std::filesystem::path& out_folder,
                            config::Diagnostics& diagnostics) {
  const auto text = [&given](const char* option) {
    const auto found = given.find(option);
    return found == given.end() ? std::string() : found->second;
  };
  NcclTopoOptions options;
  options.graph = text("--graph");
  options.gpu = text("--gpu");
  options.nic = text("--nic");
  if (given.contains("--wiring")) options.wiring = wirings.at(text("--wiring"));
  if (given.contains("--configs")) options.configs = text("--configs");
  options.out_folder = out_folder;
  return import_nccl_topo(file, options, diagnostics);
}

}  // namespace

Importer nccl_topo_importer() {
  return {
      .name = "nccl-topo",
      .meaning = "A topology dump of NCCL or RCCL becomes a system file",
      .file = "What NCCL or RCCL wrote with NCCL_TOPO_DUMP_FILE=FILE",
      .options = {{"--graph", "FILE",
                   "What it wrote with NCCL_GRAPH_DUMP_FILE; compared with the dump, and told in the comments"},
                  {"--gpu", "HARDWARE.yaml", "The GPU's hardware file; without it the one for the dump's PCI device"},
                  {"--nic", "HARDWARE.yaml",
                   "The NIC's hardware file; without it the one for the dump's NIC and speed. none: leave NICs "
                   "out"},
                  {"--wiring",
                   "WIRING",
                   "How the GPUs are linked, where the dump does not say or says what cannot be modelled: "
                   "nvswitch, full_mesh, pcie, none",
                   {"nvswitch", "full_mesh", "pcie", "none"}},
                  {"--configs", "DIR",
                   "The folder with hardware/ and libraries/; configs in the current folder if nothing is said"}},
      .run = run};
}

}  // namespace moire::importing
