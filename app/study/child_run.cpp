#include "app/study/child_run.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/study/child.hpp"

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
  json["queues"] = Json::array();
  for (const QueueResult& queue : result.queues) {
    json["queues"].push_back({queue.name, queue.number, queue.end.ps, queue.waited.ps});
  }
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
  for (const Json& queue : json["queues"]) {
    result.queues.push_back({queue[0].get<std::string>(), queue[1].get<std::uint32_t>(),
                             Time{queue[2].get<std::int64_t>()}, Time{queue[3].get<std::int64_t>()}});
  }
  const Json& stats = json["stats"];
  result.stats.events = stats[0].get<std::uint64_t>();
  result.stats.instants = stats[1].get<std::uint64_t>();
  result.stats.solves = stats[2].get<std::uint64_t>();
  return result;
}

RunResult result_of(const ChildReport& report) {
  RunResult result = unpacked(report.text);
  result.stats.wall_seconds = report.wall_seconds;
  result.stats.peak_memory_bytes = report.peak_memory_bytes;
  return result;
}

}  // namespace

RunResult simulate_in_child(const std::function<RunResult()>& simulated, const std::function<void()>& tick) {
  return result_of(run_in_child([&] { return packed(simulated()); }, tick));
}

std::vector<RunResult> simulate_in_children(const std::vector<std::function<RunResult()>>& simulated,
                                            std::size_t at_once, const std::function<void(std::size_t)>& begin,
                                            const std::function<void()>& tick) {
  std::vector<std::function<std::string()>> works;
  for (const auto& one : simulated) works.emplace_back([&one] { return packed(one()); });
  std::vector<RunResult> results;
  for (const ChildReport& report : run_in_children(works, at_once, begin, tick)) results.push_back(result_of(report));
  return results;
}

void add(const RunStats& stats, RunStats& to) {
  to.events += stats.events;
  to.instants += stats.instants;
  to.solves += stats.solves;
  to.wall_seconds += stats.wall_seconds;
  to.peak_memory_bytes = std::max(to.peak_memory_bytes, stats.peak_memory_bytes);
}

}  // namespace moire::study
