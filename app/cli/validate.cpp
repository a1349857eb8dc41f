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
#include "app/evidence/validate/overview.hpp"
#include "app/evidence/validate/report.hpp"
#include "app/report/formats.hpp"
#include "sim/process/standard_streams.hpp"

namespace moire::cli {

namespace {

struct ValidateArguments {
  std::vector<std::string> files;
  std::vector<std::string> sets;
  Output output;
  std::string report;
  bool predict = false;
  std::size_t jobs = std::max(1U, std::thread::hardware_concurrency());
};

// True if the file is a validation file, or if its kind is not known. Otherwise reports the kind of the file, which
// helps the user more than a list of unknown keys.
bool is_a_validation(const std::string& file, config::Diagnostics& diagnostics) {
  config::Diagnostics ignored;  // the caller has loaded the file and has its errors
  const auto tree = config::load(file, {}, ignored);
  const auto kind = tree ? kind_of(*tree) : std::nullopt;
  if (!kind || kind == FileKind::validation) return true;
  diagnostics.error(tree->place, fmt::format("this is a {}, not a validation file", to_string(*kind)),
                    fmt::format("use 'moire {} {}'; a validation file has groups",
                                kind == FileKind::scenario ? "run" : "check", file));
  return false;
}

// Simulates the cases of a validation file and returns the validation with its results. After an error, prints it,
// stores the exit status in `status` and returns nothing.
std::optional<validate::Validated> validated(const ValidateArguments& arguments, const std::string& file,
                                             std::optional<Destination>& destination, int& status) {
  config::Diagnostics diagnostics;
  study::Preparer preparer;
  auto validation = validate::load_validation(file, arguments.sets, arguments.predict, preparer, diagnostics);
  if (!diagnostics.ok()) {
    config::Diagnostics plain;
    print_errors(is_a_validation(file, plain) ? diagnostics : plain);
    status = bad_input;
    return std::nullopt;
  }
  const bool one = arguments.files.size() == 1;
  if (!destination) destination.emplace(arguments.output, one ? validation->name : "validations");
  if (one && !arguments.report.empty()) destination->add(report::format("html"), arguments.report);
  validate::ValidationResult result = run_validation(*validation, arguments.jobs, diagnostics);
  if (!diagnostics.ok()) {
    print_errors(diagnostics);
    status = bad_input;
    return std::nullopt;
  }
  if (!result.deadlock.empty()) {
    process::tell("{}{}", result.deadlock, result.deadlock.ends_with('\n') ? "" : "\n");
    status = deadlock;
    return std::nullopt;
  }
  return validate::Validated{file, std::move(*validation), std::move(result)};
}

int tell_limits(const std::vector<validate::Validated>& all) {
  int status = done;
  for (const validate::Validated& one : all) {
    if (one.result.passed()) continue;
    for (const std::string& line : beyond_limits(one.result))
      process::tell("{}{}\n", all.size() == 1 ? "" : one.file + ": ", line);
    status = check_failed;
  }
  return status;
}

int validate_files(const ValidateArguments& arguments) {
  std::optional<Destination> destination;
  std::vector<validate::Validated> all;
  for (const std::string& file : arguments.files) {
    int status = done;
    auto one = validated(arguments, file, destination, status);
    if (!one) return status;
    if (arguments.predict) {
      process::print(predictions_csv(one->validation, one->result));
      return done;
    }
    all.push_back(std::move(*one));
  }
  destination->write(all.size() == 1 ? document_of(all.front().validation, all.front().result, MOIRE_VERSION)
                                     : overview_of(all));
  return tell_limits(all);
}

}  // namespace

void add_validate(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<ValidateArguments>();
  CLI::App* command = app.add_subcommand("validate",
                                         "Simulate measured cases and print measured value, simulated value and error; "
                                         "exit status 1 if a limit is exceeded");
  command
      ->add_option("FILE", arguments->files,
                   "The validation file; for several, one table of all groups, beginning with those that contribute "
                   "most to the sum of errors")
      ->required()
      ->type_name("");
  command
      ->add_option(
          "--set", arguments->sets,
          "Change a value, path=value; paths system.* and program.* change every scenario, all others change FILE")
      ->allow_extra_args(false)
      ->type_name("PATH=VALUE");
  auto* format = add_format(*command, arguments->output);
  auto* out = add_out(*command, arguments->output, "<validation>");
  auto* report = command->add_option("--report", arguments->report, "Write a page with tables and figures")
                     ->check(a_name())
                     ->type_name("FILE.html");
  command
      ->add_option(
          "-j,--jobs", arguments->jobs,
          "Number of cases simulated at the same time; default: the number of processors. It does not change results")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  command
      ->add_flag("--predict", arguments->predict,
                 "Print the simulated values as a table that 'expected' may name; measured values are not read")
      ->excludes(format)
      ->excludes(out)
      ->excludes(report);
  command->callback([arguments, &action] {
    if (arguments->files.size() > 1 && (arguments->predict || !arguments->report.empty()))
      throw CLI::ValidationError("--predict and --report need exactly one validation file");
    action = [arguments] { return validate_files(*arguments); };
  });
}

}  // namespace moire::cli
