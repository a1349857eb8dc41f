// moire compile: writes, as MSCCL XML, a collective program that is included in Moire.
#include <fmt/format.h>

#include <algorithm>

#include "app/cli/commands.hpp"
#include "app/cli/errors.hpp"
#include "app/cli/exit_status.hpp"
#include "app/cli/files.hpp"
#include "models/algorithms/msccl/xml_writer.hpp"
#include "models/algorithms/mscclang/programs/registry.hpp"
#include "sim/config/suggest.hpp"
#include "sim/core/failure.hpp"
#include "sim/process/standard_streams.hpp"

namespace moire::cli {

namespace {

using mscclang::ProgramEntry;
using mscclang::programs;

struct CompileArguments {
  std::string name;
  std::vector<std::string> sets;
  std::string out;
  bool list = false;
};

int list_programs() {
  config::Catalogue catalogue;
  mscclang::describe(catalogue);
  std::size_t width = 0;
  for (const ProgramEntry& entry : programs()) width = std::max(width, entry.name.size());
  for (const ProgramEntry& entry : programs()) {
    const config::Description* known = catalogue.find(entry.name);
    process::print(fmt::format("{:<{}}  {}\n", entry.name, width, known == nullptr ? "" : known->meaning));
  }
  return done;
}

int compile(const CompileArguments& arguments) {
  if (arguments.list) return list_programs();
  const ProgramEntry* entry = mscclang::find_program(arguments.name);
  if (entry == nullptr) {
    std::vector<std::string> names;
    for (const ProgramEntry& each : programs()) names.push_back(each.name);
    if (arguments.name.empty()) throw core::RunFailure("no program is named; 'moire compile --list' lists them");
    throw core::RunFailure(fmt::format("unknown program {}; {}", config::in_quotes(arguments.name),
                                       config::suggestion(arguments.name, names, "programs")));
  }
  config::Diagnostics diagnostics;
  const auto sets = config::parse_sets(arguments.sets, diagnostics);
  const auto parameters = config::load_text(arguments.name, "{}", sets, diagnostics);
  const auto algorithm = parameters && diagnostics.ok() ? entry->compile(*parameters, diagnostics, {}) : std::nullopt;
  if (!algorithm) {
    print_errors(diagnostics);
    return bad_input;
  }
  const std::string xml = msccl::to_xml(*algorithm);
  if (arguments.out.empty()) {
    process::print(xml);
  } else {
    write_file(arguments.out, xml);
  }
  return done;
}

}  // namespace

void add_compile(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<CompileArguments>();
  CLI::App* command = app.add_subcommand("compile", "Write a collective program as MSCCL XML");
  command->add_option("NAME", arguments->name, "A program included in Moire; --list lists them")->type_name("");
  command
      ->add_option(
          "--set", arguments->sets,
          "Set a parameter of the program, like gpus_per_node=4; 'moire explain NAME' lists all parameters. Default: "
          "1 node of 8 GPUs")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
  command->add_option("--out", arguments->out, "Write the result to this file; without it, it goes to stdout")
      ->check(a_name())
      ->type_name("FILE");
  command->add_flag("--list", arguments->list, "List the programs");
  command->callback([arguments, &action] { action = [arguments] { return compile(*arguments); }; });
}

}  // namespace moire::cli
