#include "app/study/study.hpp"

#include <cctype>

#include "app/study/child.hpp"
#include "app/study/notes.hpp"
#include "app/study/overlap.hpp"
#include "app/study/progress.hpp"
#include "app/study/timeline_file.hpp"
#include "sim/core/log.hpp"

namespace moire::study {

namespace {

Simulated simulate_whole(const PreparedStudy& study, std::size_t number, const StudyOptions& options) {
  const Run run = run_of(study.scenario, number);
  const PreparedRunPtr prepared = study.run(number);
  Simulated simulated;
  if (options.timeline) {
    TimelineFile timeline(timeline_path(*options.timeline, study.scenario, run), *prepared);
    simulated.result = simulate(*prepared, timeline.observer());
    timeline.finish();
  } else {
    simulated.result = simulate(*prepared, nullptr);
  }
  simulate_parts(study.scenario, run, *prepared, simulated);
  return simulated;
}

Simulated simulated_of(const ChildReport& report) {
  auto simulated = unpacked<Simulated>(report.text);
  simulated.result.stats.wall_seconds = report.wall_seconds;
  simulated.result.stats.peak_memory_bytes = report.peak_memory_bytes;
  return simulated;
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

std::vector<RunResult> run_all(const std::vector<const PreparedStudy*>& studies, std::size_t at_once,
                               const std::function<void(std::size_t)>& begin, const std::function<void()>& tick) {
  std::vector<std::function<std::string()>> works;
  for (const PreparedStudy* study : studies)
    works.emplace_back([study] { return packed(simulate_whole(*study, 0, {})); });
  std::vector<RunResult> results;
  for (const ChildReport& report : run_in_children(works, at_once, begin, tick)) {
    Simulated simulated = simulated_of(report);
    add_overlap(studies[results.size()]->scenario, simulated, simulated);
    results.push_back(std::move(simulated.result));
  }
  return results;
}

StudyResult run_study(const PreparedStudy& study, const StudyOptions& options) {
  const Scenario& scenario = study.scenario;
  Progress progress;
  std::vector<std::function<std::string()>> works;
  for (std::size_t number = 0; number < scenario.runs(); ++number)
    works.emplace_back([&, number] { return packed(simulate_whole(study, number, options)); });
  std::vector<Simulated> runs(works.size());
  const auto ended = [&](std::size_t number, const ChildReport& report) {
    runs[number] = simulated_of(report);
    return runs[number].result.deadlock.empty();
  };
  run_in_children(
      works, options.at_once,
      [&](std::size_t number) { progress.run(number + 1, works.size(), run_of(scenario, number).label()); },
      [&] { progress.tick(); }, ended);

  StudyResult result;
  for (std::size_t number = 0; number < runs.size() && !result.deadlocked(); ++number) {
    Simulated& own = runs[number];
    if (own.result.deadlock.empty()) {
      const std::size_t point = number - run_of(scenario, number).variant.value_or(0);
      add_overlap(scenario, scenario.compare_to ? runs[point + *scenario.compare_to] : own, own);
    }
    result.runs.push_back(own.result);
  }
  compare(scenario, result);
  result.notes = notes_of(study, result);
  for (const std::string& note : result.notes) core::log_info("{}", note);
  return result;
}

}  // namespace moire::study
