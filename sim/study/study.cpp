#include "sim/study/study.hpp"

#include <cctype>
#include <nlohmann/json.hpp>

#include "sim/core/invariant.hpp"
#include "sim/study/child.hpp"
#include "sim/study/progress.hpp"
#include "sim/study/timeline_file.hpp"

namespace moire::study {

namespace {

using Json = nlohmann::ordered_json;

// Between the processes; numbers keep every bit.
std::string packed(const RunResult& result) {
  Json json;
  json["time_ps"] = result.time.ps;
  json["deadlock"] = result.deadlock;
  json["metrics"] = Json::array();
  for (const Metric& metric : result.metrics) json["metrics"].push_back({metric.name, metric.value});
  json["stats"] = {result.stats.events, result.stats.instants, result.stats.solves};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

RunResult unpacked(const std::string& text) {
  const Json json = Json::parse(text);
  RunResult result;
  result.time = Time{json["time_ps"].get<std::int64_t>()};
  result.deadlock = json["deadlock"].get<std::string>();
  for (const Json& metric : json["metrics"]) {
    result.metrics.push_back({metric[0].get<std::string>(), metric[1].get<double>()});
  }
  const Json& stats = json["stats"];
  result.stats.events = stats[0].get<std::uint64_t>();
  result.stats.instants = stats[1].get<std::uint64_t>();
  result.stats.solves = stats[2].get<std::uint64_t>();
  return result;
}

std::string simulate_packed(const Scenario& scenario, const Run& run, const StudyOptions& options) {
  config::Diagnostics diagnostics;
  const auto prepared = prepare(scenario, run, diagnostics);
  MOIRE_INVARIANT(prepared.has_value(), "a checked run was refused: " + diagnostics.str());
  if (!options.timeline) return packed(simulate(*prepared, nullptr));
  TimelineFile timeline(timeline_path(*options.timeline, scenario, run), *prepared);
  RunResult result = simulate(*prepared, timeline.observer());
  timeline.finish();
  return packed(result);
}

RunResult result_of(const ChildReport& report) {
  RunResult result = unpacked(report.text);
  result.stats.wall_seconds = report.wall_seconds;
  result.stats.peak_memory_bytes = report.peak_memory_bytes;
  return result;
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
  return result_of(run_in_child([&] { return simulate_packed(scenario, run, options); }, tick));
}

std::vector<RunResult> run_all(const std::vector<const Scenario*>& scenarios, std::size_t at_once,
                               const std::function<void(std::size_t)>& begin, const std::function<void()>& tick) {
  std::vector<std::function<std::string()>> works;
  for (const Scenario* scenario : scenarios)
    works.emplace_back([scenario] { return simulate_packed(*scenario, run_of(*scenario, 0), {}); });
  std::vector<RunResult> results;
  for (const ChildReport& report : run_in_children(works, at_once, begin, tick)) results.push_back(result_of(report));
  return results;
}

StudyResult run_study(const Scenario& scenario, const StudyOptions& options) {
  StudyResult result;
  Progress progress;
  for (std::size_t number = 0; number < scenario.runs(); ++number) {
    const Run run = run_of(scenario, number);
    progress.run(number + 1, scenario.runs(), run.label());
    result.runs.push_back(run_one(scenario, run, options, [&] { progress.tick(); }));
    if (result.deadlocked()) return result;
  }
  compare(scenario, result);
  return result;
}

}  // namespace moire::study
