// moire calibrate: a hardware file, or a library's profile, from measurements.
#include "sim/study/calibrate/calibrate.hpp"

#include <fmt/format.h>

#include <map>

#include "sim/cli/commands.hpp"
#include "sim/cli/errors.hpp"
#include "sim/cli/exit_status.hpp"
#include "sim/cli/files.hpp"
#include "sim/study/calibrate/library_file.hpp"
#include "sim/study/calibrate/report.hpp"

namespace moire::cli {

namespace {

using models::link::Wiring;

struct CalibrateArguments {
  std::vector<std::string> files;
  std::string hardware;
  std::string library;
  std::string out;
  std::vector<std::string> formats;
  std::string wiring = "nvswitch";
};

const std::map<std::string, Wiring> wirings = {
    {"nvswitch", Wiring::nvswitch}, {"full_mesh", Wiring::full_mesh}, {"pcie", Wiring::pcie}};

std::string text_of(const std::string& format, const study::Measurements& measurements,
                    const study::calibrate::Found& found) {
  if (format == "json") return report_json(measurements, found);
  if (format == "csv") return report_csv(found);
  return report_table(measurements, found);
}

int print(const CalibrateArguments& arguments, const study::Measurements& measurements,
          const study::calibrate::Found& found, const std::string& yaml) {
  if (!arguments.out.empty()) write_file(arguments.out, yaml);
  for (const std::string& format : arguments.formats) fmt::print("{}", text_of(format, measurements, found));
  if (arguments.out.empty() && arguments.formats.empty()) {
    fmt::print("{}", yaml);
    fmt::print(stderr, "{}", report_table(measurements, found));
  }
  return done;
}

int calibrate(const CalibrateArguments& arguments) {
  config::Diagnostics diagnostics;
  const auto measurements = study::load_joined(arguments.files, diagnostics);
  auto hardware = study::calibrate::HardwareFile::load(arguments.hardware, diagnostics);
  study::calibrate::Options options;
  options.wiring = wirings.at(arguments.wiring);
  if (measurements && hardware && !arguments.library.empty()) {
    const auto gpu = hardware->spec(diagnostics);
    const auto fitted =
        gpu ? calibrate_library(*measurements, arguments.library, *gpu, diagnostics, options) : std::nullopt;
    if (fitted) return print(arguments, *measurements, *fitted, fitted->yaml);
  } else if (measurements && hardware) {
    const auto calibration = study::calibrate::calibrate(*measurements, std::move(*hardware), diagnostics, options);
    if (calibration) return print(arguments, *measurements, *calibration, calibration->hardware.yaml());
  }
  print_errors(diagnostics);
  return bad_input;
}

}  // namespace

void add_calibrate(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<CalibrateArguments>();
  CLI::App* command = app.add_subcommand("calibrate", "Fit a GPU's hardware file to measurements");
  command
      ->add_option("MEASUREMENTS", arguments->files,
                   "What validation/collect wrote; several files of one kind of GPU are joined, the first one's header "
                   "counts")
      ->required()
      ->type_name("");
  command
      ->add_option("--hardware", arguments->hardware,
                   "The GPU to start from; what nothing measured stays as it is there")
      ->required()
      ->type_name("FILE");
  command
      ->add_option("--library", arguments->library,
                   "Fit this collective library's profile instead; the hardware file is taken as it stands")
      ->type_name("FILE");
  command
      ->add_option("--out", arguments->out,
                   "Write what was fitted there, also over an old one; without it and --format it goes to stdout")
      ->type_name("FILE");
  command
      ->add_option("--format", arguments->formats,
                   "Print what was found as table, json or csv (every point), or several joined by commas")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember({"table", "json", "csv"}))
      ->type_name("LIST");
  command
      ->add_option("--wiring", arguments->wiring,
                   "How the GPUs reach each other: nvswitch (the default), full_mesh, pcie")
      ->check(CLI::IsMember({"nvswitch", "full_mesh", "pcie"}))
      ->type_name("WIRING");
  command->callback([arguments, &action] {
    action = [arguments] {
      CalibrateArguments given = *arguments;
      if (given.formats.empty() && !given.out.empty()) given.formats = {"table"};
      return calibrate(given);
    };
  });
}

}  // namespace moire::cli
