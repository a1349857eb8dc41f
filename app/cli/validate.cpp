// moire validate: compares measured cases with their simulation and checks the errors against limits.
#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "app/cli/commands.hpp"
#include "app/cli/errors.hpp"
#include "app/cli/exit_status.hpp"
#include "app/cli/file_kind.hpp"
#include "app/cli/files.hpp"
#include "app/cli/output.hpp"
#include "app/evidence/validate/expected.hpp"
#include "app/evidence/validate/report.hpp"
#include "app/report/formats.hpp"
#include "sim/process/standard_streams.hpp"

namespace moire::cli {

namespace {

struct ValidateArguments {
  std::string file;
  std::vector<std::string> sets;
  Output output;
  std::string report;
  bool predict = false;
  std::size_t jobs = std::max(1U, std::thread::hardware_concurrency());
};

// For a file of another kind, say so instead of listing unknown keys.
bool is_a_validation(const ValidateArguments& arguments, config::Diagnostics& diagnostics) {
  config::Diagnostics ignored;  // reported when the file is loaded
  const auto tree = config::load(arguments.file, {}, ignored);
  const auto kind = tree ? kind_of(*tree) : std::nullopt;
  if (!kind || kind == FileKind::validation) return true;
  diagnostics.error(tree->place, fmt::format("this is a {}, not a validation file", to_string(*kind)),
                    fmt::format("'moire {} {}' takes it; a validation file has groups",
                                kind == FileKind::scenario ? "run" : "check", arguments.file));
  return false;
}

int validate_file(const ValidateArguments& arguments) {
  config::Diagnostics diagnostics;
  study::Preparer preparer;
  const auto validation =
      validate::load_validation(arguments.file, arguments.sets, arguments.predict, preparer, diagnostics);
  if (!diagnostics.ok()) {
    config::Diagnostics plain;
    print_errors(is_a_validation(arguments, plain) ? diagnostics : plain);
    return bad_input;
  }
  Destination destination(arguments.output, validation->name);
  if (!arguments.report.empty()) destination.add(report::format("html"), arguments.report);
  const validate::ValidationResult result = run_validation(*validation, arguments.jobs, diagnostics);
  if (!diagnostics.ok()) {
    print_errors(diagnostics);
    return bad_input;
  }
  if (!result.deadlock.empty()) {
    process::tell("{}{}", result.deadlock, result.deadlock.ends_with('\n') ? "" : "\n");
    return deadlock;
  }
  if (arguments.predict) {
    process::print(predictions_csv(*validation, result));
    return done;
  }
  const report::Document document = document_of(*validation, result, MOIRE_VERSION);
  destination.write(document);
  if (result.passed()) return done;
  for (const std::string& line : beyond_limits(result)) process::tell("{}\n", line);
  return check_failed;
}

}  // namespace

void add_validate(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<ValidateArguments>();
  CLI::App* command =
      app.add_subcommand("validate", "Simulate measured cases: measured, simulated, error; 1 where a limit is passed");
  command->add_option("FILE", arguments->file, "The validation file")->required()->type_name("");
  command
      ->add_option("--set", arguments->sets,
                   "Change a value, path=value; system.* and program.* in every scenario, all else in FILE")
      ->allow_extra_args(false)
      ->type_name("PATH=VALUE");
  auto* format = add_format(*command, arguments->output);
  auto* out = add_out(*command, arguments->output, "<validation>");
  auto* report = command->add_option("--report", arguments->report, "Write a page with tables and figures")
                     ->check(a_name())
                     ->type_name("FILE.html");
  command
      ->add_option("-j,--jobs", arguments->jobs,
                   "Cases simulated side by side; the machine's processors if nothing is said. Changes no result")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  command
      ->add_flag("--predict", arguments->predict,
                 "Print what is simulated as a table that 'expected' may name; measured values are not read")
      ->excludes(format)
      ->excludes(out)
      ->excludes(report);
  command->callback([arguments, &action] { action = [arguments] { return validate_file(*arguments); }; });
}

}  // namespace moire::cli
