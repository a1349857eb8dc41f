// moire run: simulates a scenario and reports its results.
#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "app/cli/commands.hpp"
#include "app/cli/errors.hpp"
#include "app/cli/exit_status.hpp"
#include "app/cli/files.hpp"
#include "app/cli/output.hpp"
#include "app/cli/scenario_file.hpp"
#include "app/report/formats.hpp"
#include "app/study/report.hpp"
#include "sim/process/standard_streams.hpp"

namespace moire::cli {

namespace {

namespace fs = std::filesystem;

struct RunArguments {
  std::string file;
  std::vector<std::string> sets;
  Output output;
  std::string timeline;
  bool stats = false;
  bool resume = false;
  bool progress = false;
  study::Folding folding = study::Folding::automatic;
  std::size_t jobs = std::max(1U, std::thread::hardware_concurrency());
};

// Prints the report of the first run that deadlocked, if there is one, and returns the exit status of the command. May
// only be called if no run failed in another way.
int first_deadlock(const study::Scenario& scenario, const study::StudyResult& result) {
  const auto first = std::find_if(result.runs.begin(), result.runs.end(),
                                  [](const study::RunResult& run) { return !run.ended_well(); });
  if (first == result.runs.end()) return done;
  const auto number = static_cast<std::size_t>(first - result.runs.begin());
  const std::string label = run_of(scenario, number).label();
  if (!label.empty()) process::tell("run {} of {} ({})\n", number + 1, result.runs.size(), label);
  process::tell("{}{}", first->deadlock, first->deadlock.ends_with('\n') ? "" : "\n");
  return deadlock;
}

std::string key_of(const RunArguments& arguments) {
  std::vector<std::string> words = {MOIRE_VERSION, arguments.file, arguments.timeline};
  words.insert(words.end(), arguments.sets.begin(), arguments.sets.end());
  return study::key_of_study(words);
}

int run(const RunArguments& arguments) {
  config::Diagnostics diagnostics;
  auto read = load_scenario_file(arguments.file, arguments.sets, diagnostics);
  std::optional<study::PreparedStudy> prepared;
  study::Preparer preparer(study::Preparer::Purpose::run, arguments.folding);
  if (read) prepared = study::prepare_runs(std::move(*read), preparer, diagnostics);
  if (!diagnostics.ok()) {
    print_errors(diagnostics);
    return bad_input;
  }
  const study::Scenario& scenario = prepared->scenario;
  Destination destination(arguments.output, scenario.name);
  study::StudyOptions options;
  options.at_once = arguments.jobs;
  if (arguments.progress) options.progress = study::Progress::Form::lines;
  if (!arguments.timeline.empty()) options.timeline = arguments.timeline;
  std::optional<study::KeptRuns> kept;
  if (!arguments.output.out.empty() && scenario.runs() > 1) {
    options.kept =
        &kept.emplace(fs::path(arguments.output.out) / (scenario.name + ".runs"), key_of(arguments), arguments.resume);
    if (arguments.resume) {
      process::tell("{} of {} runs are reused{}\n", kept->known(), scenario.runs(),
                    kept->known() == 0 ? "; no run with these inputs, options and this version of Moire was kept" : "");
    }
  }
  const study::StudyResult result = study::run_study(*prepared, options);
  if (arguments.stats) process::tell("{}", report::text_of(stats_table(scenario, result)));
  if (result.ended_well() > 0) destination.write(document_of(scenario, result));
  const auto has_result = [](const study::RunResult& one) { return one.ended_well() || !one.deadlock.empty(); };
  if (kept && std::all_of(result.runs.begin(), result.runs.end(), has_result)) kept->not_needed();
  if (result.failure) std::rethrow_exception(result.failure);
  return first_deadlock(scenario, result);
}

}  // namespace

void add_run(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<RunArguments>();
  CLI::App* command =
      app.add_subcommand("run", "Simulate a scenario and print its metrics and, with variants, their comparison");
  command->add_option("FILE", arguments->file, "The scenario")->required()->type_name("");
  command
      ->add_option("--set", arguments->sets,
                   "Change a value, path=value; may be repeated, the last change of a path applies")
      ->allow_extra_args(false)
      ->type_name("PATH=VALUE");
  add_format(*command, arguments->output);
  auto* out = add_out(*command, arguments->output, "<scenario>");
  command
      ->add_option(
          "--timeline", arguments->timeline,
          "Write a timeline as a Perfetto trace; each of several runs gets its own file, with the name of the run "
          "before the extension: out.fused.pftrace for out.pftrace")
      ->check(a_name())
      ->type_name("FILE");
  command
      ->add_option(
          "-j,--jobs", arguments->jobs,
          "Number of runs simulated at the same time; default: the number of processors. It does not change results")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  command
      ->add_flag("--resume", arguments->resume,
                 "Continue a study that was interrupted or failed: runs that the same command has finished with the "
                 "same inputs are not simulated again")
      ->needs(out);
  command
      ->add_option("--fold", arguments->folding,
                   "Simulate one block of nodes if all blocks do the same: auto (the default), off, or require, which "
                   "refuses a run whose blocks differ and gives the reason. It does not change results")
      ->transform(CLI::CheckedTransformer(std::map<std::string, study::Folding>{
          {"auto", study::Folding::automatic}, {"off", study::Folding::off}, {"require", study::Folding::require}}))
      ->type_name("auto|off|require");
  command->add_flag("--progress", arguments->progress,
                    "Report the progress on stderr every ten seconds, even if stderr is not a terminal");
  command->add_flag("--stats", arguments->stats,
                    "Print events, events per second and peak memory of each run on stderr");
  command->callback([arguments, &action] { action = [arguments] { return run(*arguments); }; });
}

}  // namespace moire::cli
