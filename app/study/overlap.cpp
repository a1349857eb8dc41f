#include "app/study/overlap.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/study/operating.hpp"

namespace moire::study {

namespace {

double to_a_billionth(double ratio) { return std::round(ratio * 1e9) / 1e9; }

}  // namespace

std::vector<Metric> overlap_metrics(const RunResult& run, const std::vector<QueueResult>& isolated,
                                    const std::vector<QueueResult>* alone) {
  std::vector<Metric> metrics;
  Time sum;
  Time longest;
  for (const QueueResult& queue : isolated) {
    metrics.emplace_back("<queue>_isolated_us", microseconds(queue.end), metric_word(queue.name));
    sum += queue.end;
    longest = std::max(longest, queue.end);
  }
  metrics.push_back({"serial_us", microseconds(sum)});
  metrics.push_back({"ideal_us", microseconds(longest)});
  for (const QueueResult& queue : run.queues) {
    metrics.emplace_back("<queue>_us", microseconds(queue.end), metric_word(queue.name));
  }
  if (alone != nullptr) {
    for (const QueueResult& queue : *alone) {
      metrics.emplace_back("<queue>_alone_us", microseconds(queue.end), metric_word(queue.name));
    }
  }
  const auto serial = static_cast<double>(sum.ps);
  const double speedup = serial / static_cast<double>(run.time.ps);
  const double ideal = serial / static_cast<double>(longest.ps);
  metrics.push_back({"speedup", to_a_billionth(speedup)});
  metrics.push_back({"ideal_speedup", to_a_billionth(ideal)});
  metrics.push_back({"fraction_of_ideal", to_a_billionth((speedup - 1) / (ideal - 1))});
  return metrics;
}

void simulate_parts(const Scenario& scenario, const Run& run, const PreparedRun& prepared, Simulated& simulated) {
  RunResult& result = simulated.result;
  if (!result.deadlock.empty() || scenario.ideal == Ideal::none) return;
  simulated.held = scenario.ideal == Ideal::overlap || result.queues.size() == 2;
  const bool reference = scenario.compare_to && run.variant == scenario.compare_to;
  if (!simulated.held && !reference) return;
  std::vector<double> clocks;  // of each queue alone, over the clock of the file
  for (const QueueResult& queue : result.queues) {
    RunResult alone = simulate_more(prepared.only(queue.number));
    clocks.push_back(alone.clock_share);
    study::add(alone.stats, result.stats);
    if (!alone.deadlock.empty()) {
      simulated.alone_deadlock = std::move(alone.deadlock);
      return;
    }
    simulated.alone.push_back(alone.queues.front());
    simulated.alone.back().number = queue.number;
  }
  if (!simulated.held || !scenario.blame || result.queues.size() < 2) return;
  const auto blame_at = [&](double clock, const std::vector<QueueResult>& together) {
    const PreparedRun held = prepared.operating ? held_at_clock(prepared, clock) : prepared;
    return blame(held, together, simulated.alone, [&](const machine::Apart& apart) {
      RunResult counterfactual = simulate_more(held, apart);
      study::add(counterfactual.stats, result.stats);
      return counterfactual;
    });
  };
  simulated.blame = blame_at(result.clock_share, result.queues);
  // An operating point can make all queues together run at another clock than one queue alone. The blame of this queue
  // is then computed at its clock alone, and the difference between the clocks is a cause of its own.
  for (std::size_t q = 0; q < clocks.size() && !simulated.blame.empty(); ++q) {
    if (clocks[q] == result.clock_share) continue;
    const RunResult there = simulate_more(held_at_clock(prepared, clocks[q]));
    study::add(there.stats, result.stats);
    if (!there.deadlock.empty()) return simulated.blame.clear();
    const std::vector<QueueBlame> blamed = blame_at(clocks[q], there.queues);
    if (blamed.empty()) return simulated.blame.clear();
    simulated.blame[q] = blamed[q];
    simulated.blame[q].charge("clock", result.queues[q].end - there.queues[q].end);
  }
}

void simulate_unperturbed(const PreparedRun& prepared, RunResult& result) {
  if (!result.deadlock.empty()) return;
  Time even = result.time;
  if (prepared.unperturbed) {
    const RunResult other = simulate_more(*prepared.unperturbed);
    study::add(other.stats, result.stats);
    even = other.time;
  }
  const double ratio = static_cast<double>(result.time.ps) / static_cast<double>(even.ps);
  result.metrics.push_back({"unperturbed_us", microseconds(even)});
  result.metrics.push_back({"slow_down_percent", std::round((ratio - 1) * 1e8) / 1e6});
}

void add_overlap(const Scenario& scenario, const Simulated& isolated, Simulated& own) {
  if (!own.held || !own.alone_deadlock.empty()) return;
  if (!isolated.alone_deadlock.empty() || isolated.alone.size() < 2) return;
  RunResult& result = own.result;
  for (Metric& metric : overlap_metrics(result, isolated.alone, scenario.compare_to ? &own.alone : nullptr)) {
    result.metrics.push_back(std::move(metric));
  }
  for (const QueueBlame& queue : own.blame) {
    const std::string word = metric_word(queue.queue);
    const auto named = [&queue](const QueueResult& other) { return other.name == queue.queue; };
    const auto reference = std::find_if(isolated.alone.begin(), isolated.alone.end(), named);
    if (reference != isolated.alone.end()) {
      const auto together = std::find_if(result.queues.begin(), result.queues.end(), named);
      const auto alone = std::find_if(own.alone.begin(), own.alone.end(), named);
      result.metrics.emplace_back("<queue>_lost_us", microseconds(together->end - reference->end), word);
      if (scenario.compare_to) {
        result.metrics.emplace_back("<queue>_lost_schedule_us", microseconds(alone->end - reference->end), word);
      }
    }
    for (std::size_t part = 0; part < lost_parts().size(); ++part) {
      result.metrics.emplace_back(fmt::format("<queue>_lost_{}_us", lost_parts()[part].name),
                                  microseconds(queue.lost[part]), word);
    }
  }
  tell_apart(result.metrics);
}

}  // namespace moire::study
