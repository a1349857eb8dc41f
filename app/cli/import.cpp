// moire import: files of other tools become files of Moire. One subcommand a kind of file.
#include <fmt/format.h>

#include <map>

#include "app/cli/commands.hpp"
#include "app/cli/errors.hpp"
#include "app/cli/exit_status.hpp"
#include "app/cli/files.hpp"
#include "app/import/nccl_system.hpp"

namespace moire::cli {

namespace {

namespace fs = std::filesystem;
using link::Wiring;

struct NcclTopoArguments {
  std::string file;
  std::string out;
  std::string wiring;
  std::string configs = "configs";
  importing::NcclTopoOptions options;
};

const std::map<std::string, Wiring> wirings = {
    {"none", Wiring::none}, {"nvswitch", Wiring::nvswitch}, {"full_mesh", Wiring::full_mesh}, {"pcie", Wiring::pcie}};

int nccl_topo(const NcclTopoArguments& arguments) {
  importing::NcclTopoOptions options = arguments.options;
  options.configs = arguments.configs;
  options.out_folder = fs::path(arguments.out).parent_path();
  if (!arguments.wiring.empty()) options.wiring = wirings.at(arguments.wiring);
  config::Diagnostics diagnostics;
  const auto imported = import_nccl_topo(arguments.file, options, diagnostics);
  if (!imported) {
    print_errors(diagnostics);
    return bad_input;
  }
  for (const std::string& note : imported->notes) fmt::print(stderr, "{}: note: {}\n", arguments.file, note);
  if (arguments.out.empty()) {
    fmt::print("{}", imported->yaml);
  } else {
    write_file(arguments.out, imported->yaml);
  }
  return done;
}

void add_nccl_topo(CLI::App& import, Action& action) {
  auto arguments = std::make_shared<NcclTopoArguments>();
  CLI::App* command = import.add_subcommand("nccl-topo", "A topology dump of NCCL or RCCL becomes a system file");
  command->add_option("FILE", arguments->file, "What NCCL or RCCL wrote with NCCL_TOPO_DUMP_FILE=FILE")
      ->required()
      ->type_name("");
  command
      ->add_option("--graph", arguments->options.graph,
                   "What it wrote with NCCL_GRAPH_DUMP_FILE; compared with the dump, and told in the comments")
      ->type_name("FILE");
  command
      ->add_option("--gpu", arguments->options.gpu,
                   "The GPU's hardware file; without it the one for the dump's PCI device")
      ->type_name("HARDWARE.yaml");
  command
      ->add_option("--nic", arguments->options.nic,
                   "The NIC's hardware file; without it the one for the dump's NIC and speed. none: leave NICs out")
      ->type_name("HARDWARE.yaml");
  command
      ->add_option("--wiring", arguments->wiring,
                   "How the GPUs are linked, where the dump does not say or says what cannot be modelled: nvswitch, "
                   "full_mesh, pcie, none")
      ->check(CLI::IsMember({"nvswitch", "full_mesh", "pcie", "none"}))
      ->type_name("WIRING");
  command
      ->add_option("--configs", arguments->configs,
                   "The folder with hardware/ and libraries/; configs in the current folder if nothing is said")
      ->type_name("DIR");
  command
      ->add_option("--out", arguments->out,
                   "Write the system file there, also over an old one. Without it it goes to stdout, with paths that "
                   "start at the current folder")
      ->type_name("FILE");
  command->callback([arguments, &action] { action = [arguments] { return nccl_topo(*arguments); }; });
}

}  // namespace

void add_import(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("import", "Make files of Moire from files of other tools");
  command->require_subcommand(1);
  add_nccl_topo(*command, action);
}

}  // namespace moire::cli
