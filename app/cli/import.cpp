// moire import: converts files of other tools to files of Moire. Each kind of file has a subcommand.
#include <fmt/format.h>

#include "app/cli/commands.hpp"
#include "app/cli/errors.hpp"
#include "app/cli/exit_status.hpp"
#include "app/cli/files.hpp"
#include "app/import/importer.hpp"
#include "sim/process/standard_streams.hpp"

namespace moire::cli {

namespace {

using importing::Importer;

struct Arguments {
  std::string file;
  std::string out;
  importing::Given given;
};

int import_file(const Importer& importer, const Arguments& arguments) {
  config::Diagnostics diagnostics;
  const auto folder = std::filesystem::path(arguments.out).parent_path();
  const auto imported = importer.run(arguments.file, arguments.given, folder, diagnostics);
  if (!imported) {
    print_errors(diagnostics);
    return bad_input;
  }
  for (const std::string& note : imported->notes) process::tell("{}: note: {}\n", arguments.file, note);
  process::print(imported->table);
  if (!arguments.out.empty()) {
    write_file(arguments.out, imported->yaml);
  } else if (imported->table.empty()) {
    process::print(imported->yaml);
  }
  return done;
}

void add_importer(const Importer& importer, CLI::App& import, Action& action) {
  auto arguments = std::make_shared<Arguments>();
  CLI::App* command = import.add_subcommand(importer.name, importer.meaning);
  command->add_option("FILE", arguments->file, importer.file)->required()->type_name("");
  for (const importing::Option& option : importer.options) {
    CLI::Option* added = command->add_option_function<std::string>(
        option.name, [arguments, name = option.name](const std::string& text) { arguments->given[name] = text; },
        option.meaning);
    if (!option.choices.empty()) added->check(CLI::IsMember(option.choices));
    added->type_name(option.type);
  }
  command
      ->add_option_function<std::string>(
          "--out", [arguments](const std::string& file) { arguments->given["--out"] = arguments->out = file; },
          importer.out)
      ->check(a_name())
      ->type_name("FILE");
  command->callback(
      [importer, arguments, &action] { action = [importer, arguments] { return import_file(importer, *arguments); }; });
}

}  // namespace

void add_import(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("import", "Convert files of other tools into files of Moire");
  command->require_subcommand(1);
  for (const Importer& importer : importing::importers()) add_importer(importer, *command, action);
}

}  // namespace moire::cli
