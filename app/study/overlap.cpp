#include "app/study/overlap.hpp"

#include <algorithm>
#include <cmath>

#include "app/study/blame.hpp"
#include "app/study/child_run.hpp"

namespace moire::study {

namespace {

std::size_t number_of(const Scenario& scenario, const Run& run) {
  return run.point * std::max<std::size_t>(1, scenario.variants.size()) + run.variant.value_or(0);
}

double to_a_billionth(double ratio) { return std::round(ratio * 1e9) / 1e9; }

// A queue may have the name of an operation. Its own metric is the one that is asked for then.
void put(std::vector<Metric>& metrics, Metric metric) {
  const auto known =
      std::find_if(metrics.begin(), metrics.end(), [&metric](const Metric& m) { return m.name == metric.name; });
  if (known == metrics.end()) {
    metrics.push_back(std::move(metric));
  } else {
    *known = std::move(metric);
  }
}

}  // namespace

std::vector<Metric> overlap_metrics(const RunResult& run, const std::vector<QueueResult>& isolated,
                                    const std::vector<QueueResult>* alone) {
  std::vector<Metric> metrics;
  Time sum;
  Time longest;
  for (const QueueResult& queue : isolated) {
    metrics.push_back({metric_word(queue.name) + "_isolated_us", microseconds(queue.end)});
    sum += queue.end;
    longest = std::max(longest, queue.end);
  }
  metrics.push_back({"serial_us", microseconds(sum)});
  metrics.push_back({"ideal_us", microseconds(longest)});
  for (const QueueResult& queue : run.queues) {
    metrics.push_back({metric_word(queue.name) + "_us", microseconds(queue.end)});
  }
  if (alone != nullptr) {
    for (const QueueResult& queue : *alone) {
      metrics.push_back({metric_word(queue.name) + "_alone_us", microseconds(queue.end)});
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

bool Overlap::wanted(const RunResult& result) const {
  if (!result.deadlock.empty() || scenario_.ideal == Ideal::none) return false;
  return scenario_.ideal == Ideal::overlap || result.queues.size() == 2;
}

const Overlap::Alone& Overlap::alone(const Run& run, const std::function<void()>& tick) {
  const auto [at, fresh] = alone_.try_emplace(number_of(scenario_, run));
  Alone& known = at->second;
  if (!fresh) return known;
  const PreparedRun prepared = prepare_checked(scenario_, run);
  for (std::uint32_t q = 0; q < prepared.program->queues.size(); ++q) {
    if (prepared.program->queues[q].operations.empty()) continue;
    const auto simulated = [&] {
      const PreparedRun one{prepared.system, std::make_unique<program::Program>(prepared.program->only(q))};
      return simulate(one, nullptr);
    };
    RunResult result = simulate_in_child(simulated, tick);
    study::add(result.stats, known.stats);
    if (!result.deadlock.empty()) {
      known.deadlock = std::move(result.deadlock);
      return known;
    }
    result.queues.front().number = q;
    known.queues.push_back(result.queues.front());
  }
  return known;
}

void Overlap::add(const Run& run, RunResult& result, const std::function<void()>& tick) {
  if (!wanted(result)) return;
  const Alone& own = alone(run, tick);
  study::add(own.stats, result.stats);
  const Alone* isolated = &own;
  if (scenario_.compare_to) {
    Run reference = run_of(scenario_, run.point * scenario_.variants.size() + *scenario_.compare_to);
    isolated = &alone(reference, tick);
  }
  if (!own.deadlock.empty() || !isolated->deadlock.empty() || isolated->queues.size() < 2) return;
  for (Metric& metric : overlap_metrics(result, isolated->queues, scenario_.compare_to ? &own.queues : nullptr)) {
    put(result.metrics, std::move(metric));
  }
  if (scenario_.blame) add_blame(run, result, own, *isolated, tick);
}

void Overlap::add_blame(const Run& run, RunResult& result, const Alone& own, const Alone& isolated,
                        const std::function<void()>& tick) const {
  if (result.queues.size() < 2) return;
  const PreparedRun prepared = prepare_checked(scenario_, run);
  const auto simulated = [&](const machine::Apart& apart) {
    RunResult counterfactual = simulate_in_child([&] { return simulate(prepared, nullptr, apart); }, tick);
    study::add(counterfactual.stats, result.stats);
    return counterfactual;
  };
  for (const QueueBlame& queue : blame(prepared, result.queues, own.queues, simulated)) {
    const std::string word = metric_word(queue.queue) + "_lost_";
    const auto named = [&queue](const QueueResult& other) { return other.name == queue.queue; };
    const auto reference = std::find_if(isolated.queues.begin(), isolated.queues.end(), named);
    if (reference != isolated.queues.end()) {
      const auto together = std::find_if(result.queues.begin(), result.queues.end(), named);
      const auto alone = std::find_if(own.queues.begin(), own.queues.end(), named);
      result.metrics.push_back({word + "us", microseconds(together->end - reference->end)});
      if (scenario_.compare_to) {
        result.metrics.push_back({word + "schedule_us", microseconds(alone->end - reference->end)});
      }
    }
    for (std::size_t part = 0; part < lost_parts().size(); ++part) {
      result.metrics.push_back({word + std::string(lost_parts()[part].name) + "_us", microseconds(queue.lost[part])});
    }
  }
}

}  // namespace moire::study
