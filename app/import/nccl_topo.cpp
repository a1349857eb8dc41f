// Describes the importer nccl-topo and its options.
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
      .options =
          {{"--graph", "FILE",
            "The file that NCCL or RCCL wrote with NCCL_GRAPH_DUMP_FILE=FILE; it is compared with the topology "
            "dump and described in the comments of the result"},
           {"--gpu", "HARDWARE.yaml", "The GPU's hardware file; default: the file for the PCI device in the dump"},
           {"--nic", "HARDWARE.yaml",
            "The NIC's hardware file; default: the file for the NIC and the speed in the dump. none: leave NICs out"},
           {"--wiring",
            "WIRING",
            "How the GPUs are connected, if the dump does not state it or states something that is not "
            "modelled: nvswitch, full_mesh, pcie, none",
            {"nvswitch", "full_mesh", "pcie", "none"}},
           {"--configs", "DIR",
            "The folder that contains hardware/ and libraries/; default: configs in the current folder"}},
      .out =
          "Write the system file to FILE, replacing an old one. Without this option it goes to stdout, and its paths "
          "start at the current folder",
      .run = run};
}

}  // namespace moire::importing
