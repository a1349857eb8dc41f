#include "app/study/child_run.hpp"

#include <algorithm>

#include "app/study/child.hpp"

namespace moire::study {

namespace {

RunResult result_of(const ChildReport& report) {
  auto result = unpacked<RunResult>(report.text);
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

RunResult simulate_apart(const PreparedRun& run, const std::function<RunResult()>& simulated) {
  const machine::SystemSpec& system = *run.system;
  const bool simgrid = system.network.model == machine::NetworkModel::flow && system.fabric;
  return simgrid ? simulate_in_child(simulated, [] {}) : simulated();
}

RunResult simulate_more(const PreparedRun& run, const machine::Apart& apart) {
  return simulate_apart(run, [&] { return simulate(run, nullptr, apart); });
}

void add(const RunStats& stats, RunStats& to) {
  to.events += stats.events;
  to.instants += stats.instants;
  to.solves += stats.solves;
  to.wall_seconds += stats.wall_seconds;
  to.peak_memory_bytes = std::max(to.peak_memory_bytes, stats.peak_memory_bytes);
}

}  // namespace moire::study
