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
      .meaning = "Convert a topology dump of NCCL or RCCL into a system file",
      .file = "The file that NCCL or RCCL wrote with NCCL_TOPO_DUMP_FILE=FILE",
      .options = {{"--graph", "FILE",
                   "The file that it wrote with NCCL_GRAPH_DUMP_FILE; it is compared with the dump and described in "
                   "the comments"},
                  {"--gpu", "HARDWARE.yaml", "The GPU's hardware file; default: the one for the dump's PCI device"},
                  {"--nic", "HARDWARE.yaml",
                   "The NIC's hardware file; default: the one for the dump's NIC and speed. none: leave NICs out"},
                  {"--wiring",
                   "WIRING",
                   "How the GPUs are connected, if the dump does not state it or states something that is not "
                   "modelled: nvswitch, full_mesh, pcie, none",
                   {"nvswitch", "full_mesh", "pcie", "none"}},
                  {"--configs", "DIR",
                   "The folder that contains hardware/ and libraries/; default: configs in the current folder"}},
      .out =
          "Write the system file there, replacing an old one. Without it the file goes to stdout, with paths that "
          "start "
          "at the current folder",
      .run = run};
}

}  // namespace moire::importing
