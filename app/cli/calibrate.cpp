// moire calibrate: fits a hardware file or a library profile to measurements, or a profile to a validation file.
#include "app/evidence/calibrate/calibrate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <thread>

#include "app/cli/commands.hpp"
#include "app/cli/errors.hpp"
#include "app/cli/exit_status.hpp"
#include "app/cli/files.hpp"
#include "app/cli/output.hpp"
#include "app/evidence/calibrate/library_file.hpp"
#include "app/evidence/calibrate/report.hpp"
#include "app/report/formats.hpp"
#include "sim/process/input_files.hpp"
#include "sim/process/standard_streams.hpp"

namespace moire::cli {

namespace {

using link::Wiring;

struct CalibrateArguments {
  std::vector<std::string> files;
  std::string hardware;
  std::string library;
  std::string out;
  Output output;
  std::string wiring = "nvswitch";
  std::size_t jobs = std::max(1U, std::thread::hardware_concurrency());

  bool from_validation() const { return files.front().ends_with(".yaml"); }
};

const std::map<std::string, Wiring> wirings = {
    {"nvswitch", Wiring::nvswitch}, {"full_mesh", Wiring::full_mesh}, {"pcie", Wiring::pcie}};

int print(const CalibrateArguments& arguments, const std::string& yaml, const report::Document& document) {
  const bool to_file = !arguments.out.empty();
  if (to_file) {
    // The result may replace the file from which the fit started.
    process::may_be_replaced(arguments.library.empty() ? arguments.hardware : arguments.library);
    write_file(arguments.out, yaml);
  }
  if (to_file || !arguments.output.formats.empty()) {
    Destination(arguments.output, "").write(document);
  } else {
    process::print(yaml);
    process::tell("{}", report::write_text(document));
  }
  return done;
}

int calibrate_by_validation(const CalibrateArguments& arguments) {
  config::Diagnostics diagnostics;
  const auto found =
      calibrate::fit_to_validation(arguments.files.front(), arguments.library, arguments.jobs, diagnostics);
  if (!found) {
    print_errors(diagnostics);
    return bad_input;
  }
  if (!found->deadlock.empty()) {
    process::tell("{}{}", found->deadlock, found->deadlock.ends_with('\n') ? "" : "\n");
    return deadlock;
  }
  return print(arguments, found->yaml, document_of(*found));
}

int calibrate(const CalibrateArguments& arguments) {
  config::Diagnostics diagnostics;
  const auto measurements = measurements::load_joined(arguments.files, diagnostics);
  auto hardware = calibrate::HardwareFile::load(arguments.hardware, diagnostics);
  calibrate::Options options;
  options.wiring = wirings.at(arguments.wiring);
  if (measurements && hardware && !arguments.library.empty()) {
    const auto gpu = hardware->spec(diagnostics);
    const auto fitted =
        gpu ? calibrate_library(*measurements, arguments.library, *gpu, diagnostics, options) : std::nullopt;
    if (fitted) return print(arguments, fitted->yaml, document_of(*measurements, *fitted));
  } else if (measurements && hardware) {
    const auto calibration = calibrate::calibrate(*measurements, std::move(*hardware), diagnostics, options);
    if (calibration) return print(arguments, calibration->hardware.yaml(), document_of(*measurements, *calibration));
  }
  print_errors(diagnostics);
  return bad_input;
}

// Throws a command-line error if the options do not fit the files. From a validation file only a library profile can be
// fitted, so it needs --library. It names the machines of its cases itself, so it excludes --hardware and --wiring.
// Only one validation file may be given.
void check_options(const CalibrateArguments& arguments, const CLI::App& command) {
  if (!arguments.from_validation()) {
    if (arguments.hardware.empty()) throw CLI::RequiredError("--hardware");
    return;
  }
  if (arguments.files.size() > 1) throw CLI::ExtrasError({arguments.files.begin() + 1, arguments.files.end()});
  if (arguments.library.empty()) throw CLI::RequiredError("--library");
  for (const char* option : {"--hardware", "--wiring"}) {
    if (command.count(option) > 0) throw CLI::ExcludesError("a validation file", option);
  }
}

}  // namespace

void add_calibrate(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<CalibrateArguments>();
  CLI::App* command =
      app.add_subcommand("calibrate", "Fit a GPU's hardware file, or a library's profile, to measurements");
  command
      ->add_option(
          "MEASUREMENTS", arguments->files,
          "Files written by validation/collect. Several files of one kind of GPU are joined, and the header of the "
          "first one applies. Alternatively one validation file (.yaml) with 'fit', to whose cases --library is fitted")
      ->required()
      ->type_name("");
  command
      ->add_option("--hardware", arguments->hardware,
                   "The GPU to start from; values that were not measured are kept. Not for a validation file")
      ->type_name("FILE");
  command
      ->add_option("--library", arguments->library,
                   "Fit the profile of this collective library instead; the hardware file is used unchanged")
      ->type_name("FILE");
  command
      ->add_option("--out", arguments->out,
                   "Write the result to this file, replacing an old one; without it and without --format the result "
                   "goes to stdout")
      ->check(a_name())
      ->type_name("FILE");
  add_format(*command, arguments->output, "Print the fitted values; csv has every point or case: ");
  command
      ->add_option("--wiring", arguments->wiring, "How the GPUs are connected: nvswitch (the default), full_mesh, pcie")
      ->check(CLI::IsMember({"nvswitch", "full_mesh", "pcie"}))
      ->type_name("WIRING");
  command
      ->add_option("-j,--jobs", arguments->jobs,
                   "Number of cases of a validation file simulated at the same time; default: the number of "
                   "processors. It does not change results")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  command->callback([arguments, command, &action] {
    check_options(*arguments, *command);
    action = [arguments] {
      return arguments->from_validation() ? calibrate_by_validation(*arguments) : calibrate(*arguments);
    };
  });
}

}  // namespace moire::cli
