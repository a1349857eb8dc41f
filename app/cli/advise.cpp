// moire advise: searches the schedules of a scenario of one or two queues.
#include "app/advise/advise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "app/cli/commands.hpp"
#include "app/cli/errors.hpp"
#include "app/cli/exit_status.hpp"
#include "app/cli/output.hpp"
#include "app/cli/scenario_file.hpp"

namespace moire::cli {

namespace {

struct AdviseArguments {
  std::string file;
  std::vector<std::string> sets;
  Output output;
  std::size_t jobs = std::max(1U, std::thread::hardware_concurrency());
};

int advise(const AdviseArguments& arguments) {
  config::Diagnostics diagnostics;
  std::optional<advise::Advice> advice;
  const auto scenario = load_scenario_file(arguments.file, arguments.sets, diagnostics);
  std::optional<Destination> destination;
  if (scenario && diagnostics.ok()) destination.emplace(arguments.output, scenario->name + ".advice");
  if (scenario && diagnostics.ok()) advice = advise::advise(*scenario, arguments.jobs, diagnostics);
  if (!diagnostics.ok()) {
    print_errors(diagnostics);
    return bad_input;
  }
  destination->write(document_of(*scenario, *advice));
  return done;
}

}  // namespace

void add_advise(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<AdviseArguments>();
  CLI::App* command = app.add_subcommand(
      "advise", "Search the schedules of a scenario of one or two queues for the fastest, and explain it");
  command->add_option("FILE", arguments->file, "The scenario; its variants are ignored")->required()->type_name("");
  command
      ->add_option("--set", arguments->sets,
                   "Change a value of the scenario before the search, path=value; may be repeated")
      ->allow_extra_args(false)
      ->type_name("PATH=VALUE");
  add_format(*command, arguments->output);
  add_out(*command, arguments->output, "<scenario>.advice");
  command
      ->add_option("-j,--jobs", arguments->jobs,
                   "Number of schedules simulated at the same time; default: the number of processors. It does not "
                   "change results")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  command->callback([arguments, &action] { action = [arguments] { return advise(*arguments); }; });
}

}  // namespace moire::cli
