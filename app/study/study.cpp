#include "app/study/study.hpp"

#include <cctype>

#include "app/study/child_run.hpp"
#include "app/study/overlap.hpp"
#include "app/study/progress.hpp"
#include "app/study/timeline_file.hpp"

namespace moire::study {

namespace {

RunResult run_whole(const Scenario& scenario, const Run& run, const StudyOptions& options,
                    const std::function<void()>& tick) {
  const auto simulated = [&] {
    const PreparedRun prepared = prepare_checked(scenario, run);
    if (!options.timeline) return simulate(prepared, nullptr);
    TimelineFile timeline(timeline_path(*options.timeline, scenario, run), prepared);
    RunResult result = simulate(prepared, timeline.observer());
    timeline.finish();
    return result;
  };
  return simulate_in_child(simulated, tick);
}

std::string file_word(const std::string& label) {
  std::string word;
  for (const char c : label) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = std::isalnum(byte) != 0 || c == '-' || c == '.';
    if (plain) {
      word += c;
    } else if (!word.empty() && word.back() != '_') {
      word += '_';
    }
  }
  return word;
}

}  // namespace

std::filesystem::path timeline_path(const std::filesystem::path& given, const Scenario& scenario, const Run& run) {
  if (scenario.runs() == 1) return given;
  std::filesystem::path name = given.stem();
  name += "." + file_word(run.label());
  name += given.extension();
  return given.parent_path() / name;
}

RunResult run_one(const Scenario& scenario, const Run& run, const StudyOptions& options,
                  const std::function<void()>& tick) {
  RunResult result = run_whole(scenario, run, options, tick);
  Overlap(scenario).add(run, result, tick);
  return result;
}

std::vector<RunResult> run_all(const std::vector<const Scenario*>& scenarios, std::size_t at_once,
                               const std::function<void(std::size_t)>& begin, const std::function<void()>& tick) {
  std::vector<std::function<RunResult()>> simulated;
  for (const Scenario* scenario : scenarios)
    simulated.emplace_back([scenario] { return run_one(*scenario, run_of(*scenario, 0), {}, [] {}); });
  return simulate_in_children(simulated, at_once, begin, tick);
}

StudyResult run_study(const Scenario& scenario, const StudyOptions& options) {
  StudyResult result;
  Progress progress;
  Overlap overlap(scenario);
  for (std::size_t number = 0; number < scenario.runs(); ++number) {
    const Run run = run_of(scenario, number);
    progress.run(number + 1, scenario.runs(), run.label());
    const auto tick = [&] { progress.tick(); };
    result.runs.push_back(run_whole(scenario, run, options, tick));
    overlap.add(run, result.runs.back(), tick);
    if (result.deadlocked()) return result;
  }
  compare(scenario, result);
  return result;
}

}  // namespace moire::study
