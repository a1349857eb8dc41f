#include "app/study/study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "app/study/child.hpp"
#include "app/study/child_run.hpp"
#include "app/study/notes.hpp"
#include "app/study/overlap.hpp"
#include "app/study/spread.hpp"
#include "app/study/timeline_file.hpp"
#include "sim/core/log.hpp"
#include "sim/process/output_file.hpp"
#include "sim/process/signals.hpp"

namespace moire::study {

namespace {

Simulated simulate_whole(const PreparedStudy& study, std::size_t number, const std::filesystem::path* timeline_file,
                         core::Pulse* pulse = nullptr) {
  const Run run = run_of(study.scenario, number);
  const PreparedRunPtr prepared = study.run(number);
  Simulated simulated;
  simulated.result = simulate_apart(*prepared, [&] {
    if (timeline_file == nullptr) return simulate(*prepared, nullptr, {}, pulse);
    TimelineFile timeline(*timeline_file, *prepared);
    RunResult result = simulate(*prepared, timeline.observer(), {}, pulse);
    timeline.finish();
    return result;
  });
  simulate_parts(study.scenario, run, *prepared, simulated);
  if (study.scenario.unperturbed) simulate_unperturbed(*prepared, simulated.result);
  if (study.scenario.spread) simulate_spread(*prepared, simulated.result);
  return simulated;
}

Simulated simulated_of(const ChildReport& report) {
  auto simulated = unpacked<Simulated>(report.text);
  simulated.result.stats.wall_seconds = report.wall_seconds;
  simulated.result.stats.peak_memory_bytes = report.peak_memory_bytes;
  return simulated;
}

// Returns the result of a child: what it reported, or the kind of its failure with a reason in one line.
Simulated simulated_of(const ChildEnd& end) {
  Simulated simulated;
  RunResult& result = simulated.result;
  try {
    if (end.failure) std::rethrow_exception(end.failure);
    simulated = simulated_of(*end.report);
    if (result.deadlock.empty()) return simulated;
    result.end = RunEnd::deadlock;
    result.reason = result.deadlock.substr(0, result.deadlock.find('\n'));
  } catch (const process::Interrupted& interrupted) {
    result.end = RunEnd::interrupted;
    result.reason = interrupted.what();
  } catch (const core::RunFailure& failure) {
    result.end = RunEnd::failure;
    result.reason = failure.what();
  } catch (const std::exception& bug) {
    result.end = RunEnd::failure;
    result.reason = std::string("internal error: ") + bug.what();
  }
  return simulated;
}

// To start a child takes as long as to simulate a short kernel, so short studies in a row share a child. Returns the
// first study of each child, and the number of studies.
std::vector<std::size_t> first_of_children(const std::vector<const PreparedStudy*>& studies, std::size_t at_once) {
  constexpr std::size_t most_studies = 16;
  constexpr double most_steps = 1e5;  // of workgroups in a child with several studies
  const std::size_t share = std::max<std::size_t>(1, studies.size() / (4 * at_once));
  std::vector<std::size_t> firsts;
  double steps = 0;
  for (std::size_t i = 0; i < studies.size(); ++i) {
    steps += studies[i]->steps.front();
    const bool full = firsts.empty() || steps > most_steps || i - firsts.back() >= std::min(most_studies, share);
    if (!full) continue;
    firsts.push_back(i);
    steps = studies[i]->steps.front();
  }
  firsts.push_back(studies.size());
  return firsts;
}

std::exception_ptr first_failure(const std::vector<ChildEnd>& ends, const StudyResult& result) {
  std::optional<std::size_t> first;
  for (std::size_t number = 0; number < ends.size(); ++number) {
    if (result.runs[number].end == RunEnd::interrupted) return ends[number].failure;
    if (!first && !result.runs[number].ended_well()) first = number;
  }
  return first ? ends[*first].failure : nullptr;
}

// Returns a label in a form that can be part of a file name. Letters that are not ASCII are kept.
std::string file_word(const std::string& label) {
  std::string word;
  for (const char c : label) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = byte >= 0x80 || std::isalnum(byte) != 0 || c == '-' || c == '.';
    if (plain) {
      word += c;
    } else if (!word.empty() && word.back() != '_') {
      word += '_';
    }
  }
  if (word.empty()) return "run";
  constexpr std::size_t longest = 180;  // file names may have 255 bytes
  if (word.size() <= longest) return word;
  std::size_t end = longest;
  while ((static_cast<unsigned char>(word[end]) & 0xc0) == 0x80) --end;  // do not cut inside of a letter
  return word.substr(0, end);
}

}  // namespace

std::vector<std::filesystem::path> timeline_paths(const std::filesystem::path& given, const Scenario& scenario) {
  if (scenario.runs() == 1) return {given};
  std::vector<std::string> words;
  for (std::size_t number = 0; number < scenario.runs(); ++number)
    words.push_back(file_word(run_of(scenario, number).label()));
  // A numbered word must not equal the word of another run.
  std::set<std::string> taken(words.begin(), words.end());
  std::set<std::string> used;
  std::vector<std::filesystem::path> paths;
  for (const std::string& word : words) {
    std::string own = word;
    for (std::size_t number = 2; (own != word && taken.contains(own)) || !used.insert(own).second; ++number)
      own = fmt::format("{}_{}", word, number);
    std::filesystem::path name = given.stem();
    name += "." + own;
    name += given.extension();
    paths.push_back(given.parent_path() / name);
  }
  return paths;
}

std::vector<RunResult> run_all(const std::vector<const PreparedStudy*>& studies, std::size_t at_once,
                               const std::function<void(std::size_t)>& begin, const std::function<void()>& tick) {
  const std::vector<std::size_t> firsts = first_of_children(studies, at_once);
  std::vector<std::function<std::string()>> works;
  for (std::size_t child = 0; child + 1 < firsts.size(); ++child) {
    works.emplace_back([&studies, first = firsts[child], last = firsts[child + 1]] {
      std::vector<Simulated> all;
      for (std::size_t i = first; i < last; ++i) all.push_back(simulate_whole(*studies[i], 0, nullptr));
      return packed(all);
    });
  }
  std::vector<RunResult> results;
  for (const ChildReport& report : run_in_children(
           works, at_once, [&](std::size_t child) { begin(firsts[child]); }, tick)) {
    auto all = unpacked<std::vector<Simulated>>(report.text);
    for (Simulated& simulated : all) {
      simulated.result.stats.wall_seconds = report.wall_seconds / static_cast<double>(all.size());
      simulated.result.stats.peak_memory_bytes = report.peak_memory_bytes;
      add_overlap(studies[results.size()]->scenario, simulated, simulated);
      results.push_back(std::move(simulated.result));
    }
  }
  return results;
}

std::size_t StudyResult::ended_well() const {
  return static_cast<std::size_t>(
      std::count_if(runs.begin(), runs.end(), [](const RunResult& run) { return run.ended_well(); }));
}

StudyResult run_study(const PreparedStudy& study, const StudyOptions& options) {
  const Scenario& scenario = study.scenario;
  std::vector<std::filesystem::path> timelines;
  if (options.timeline) timelines = timeline_paths(*options.timeline, scenario);
  for (const std::filesystem::path& file : timelines) process::check_can_write(file);
  const auto timeline_of = [&](std::size_t number) { return timelines.empty() ? nullptr : &timelines[number]; };
  Progress progress(options.progress);
  std::vector<ChildEnd> ends(scenario.runs());
  std::vector<std::size_t> numbers;  // of the runs to simulate
  for (std::size_t number = 0; number < ends.size(); ++number) {
    if (const ChildReport* known = options.kept == nullptr ? nullptr : options.kept->known(number, timeline_of(number)))
      ends[number].report = *known;
    else
      numbers.push_back(number);
  }
  // The longest runs begin first, so that none of them runs alone at the end.
  if (options.at_once > 1)
    std::stable_sort(numbers.begin(), numbers.end(),
                     [&](std::size_t a, std::size_t b) { return study.steps[a] > study.steps[b]; });
  std::vector<std::function<std::string()>> works;
  std::vector<double> steps;
  for (const std::size_t number : numbers) {
    steps.push_back(study.steps[number]);
    works.emplace_back([&study, number, timeline = timeline_of(number), &progress, work = works.size()] {
      return packed(simulate_whole(study, number, timeline, progress.pulse(work)));
    });
  }
  progress.expect(steps);
  const auto begin = [&](std::size_t work) {
    progress.begins(work);
    const std::size_t known = ends.size() - numbers.size();
    progress.run(known + work + 1, ends.size(), run_of(scenario, numbers[work]).label());
  };
  const auto ended = [&](std::size_t work, const ChildReport& report) {
    progress.ended(work);
    if (options.kept != nullptr) options.kept->keep(numbers[work], report, timeline_of(numbers[work]));
  };
  std::vector<ChildEnd> simulated = try_in_children(
      works, options.at_once, begin, [&] { progress.tick(); }, OnFailure::go_on, ended);
  for (std::size_t work = 0; work < works.size(); ++work) ends[numbers[work]] = std::move(simulated[work]);
  progress.clear();

  std::vector<Simulated> runs;
  for (const ChildEnd& end : ends) runs.push_back(simulated_of(end));

  StudyResult result;
  for (std::size_t number = 0; number < runs.size(); ++number) {
    Simulated& own = runs[number];
    if (own.result.ended_well()) {
      const std::size_t point = number - run_of(scenario, number).variant.value_or(0);
      add_overlap(scenario, scenario.compare_to ? runs[point + *scenario.compare_to] : own, own);
    }
    result.runs.push_back(own.result);
  }
  result.failure = first_failure(ends, result);
  compare(scenario, result);
  result.notes = notes_of(study, result);
  for (const std::string& note : result.notes) core::log_info("{}", note);
  return result;
}

}  // namespace moire::study
