#include "app/study/simulate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "app/study/collectives.hpp"
#include "app/study/events.hpp"
#include "app/study/operating.hpp"
#include "app/study/told.hpp"
#include "models/hardware/machine/machine.hpp"
#include "models/hardware/machine/parts.hpp"
#include "models/hardware/replay/fold.hpp"
#include "sim/core/invariant.hpp"
#include "sim/core/log.hpp"

namespace moire::study {

namespace {

double percent(double share) { return std::round(share * 1e8) / 1e6; }  // rounded to a millionth of a percent

// Adds up phases with the same name and returns one phase for each name. Phases can share a name if their shapes, the
// demands per unit of work, differ.
std::vector<program::PhaseTotal> by_name(const std::vector<program::PhaseTotal>& phases) {
  std::vector<program::PhaseTotal> merged;
  for (const program::PhaseTotal& phase : phases) {
    const auto same = std::find_if(merged.begin(), merged.end(),
                                   [&](const program::PhaseTotal& known) { return known.name == phase.name; });
    if (same == merged.end()) {
      merged.push_back(phase);
      continue;
    }
    same->count += phase.count;
    same->total += phase.total;
  }
  return merged;
}

// Adds the mean time of each phase, over all times that a workgroup executes it. If `workgroups` is not 0, also adds
// the total time of each phase per workgroup; it shows which phases the kernel's time consists of.
void add_phases(const std::string& word, const std::vector<program::PhaseTotal>& phases, std::int64_t workgroups,
                bool recorded, std::vector<Metric>& metrics) {
  for (const program::PhaseTotal& phase : by_name(phases)) {
    if (phase.count == 0) continue;
    const double mean_us = std::round(phase.mean_us() * 1e6) / 1e6;  // rounded to the picosecond
    metrics.emplace_back("<operation>_<phase>_mean_us", mean_us, word, phase.name, recorded);
    if (workgroups == 0) continue;
    const double all_us = std::round(phase.total.us() / static_cast<double>(workgroups) * 1e6) / 1e6;
    metrics.emplace_back("<operation>_<phase>_per_workgroup_us", all_us, word, phase.name, recorded);
  }
}

void add_operation(const replay::OperationTimes& operation, const std::string& word, bool has_record,
                   std::vector<Metric>& metrics) {
  metrics.emplace_back("<operation>_us", microseconds(operation.end - operation.begin), word);
  metrics.emplace_back("<operation>_begin_us", microseconds(operation.begin), word);
  metrics.emplace_back("<operation>_end_us", microseconds(operation.end), word);
  if (operation.phases.empty() || operation.first_workgroup == Time::max()) return;
  metrics.emplace_back("<operation>_kernel_us", microseconds(operation.end - operation.first_workgroup), word);
  add_phases(word, operation.phases, has_record ? operation.workgroups : 0, false, metrics);
}

void add_recorded(const builder::RecordedKernel& kernel, const std::string& word, std::vector<Metric>& metrics) {
  metrics.emplace_back("<operation>_kernel_us", microseconds(kernel.duration), word, "", true);
  add_phases(word, kernel.phases, kernel.workgroups, true, metrics);
}

void add_operations(const std::vector<Told>& operations, const Words& words,
                    const std::vector<builder::RecordedKernel>& kernels, std::vector<Metric>& metrics) {
  for (const Told& one : operations) {
    const std::string& word = words.at(one.times.name);
    const bool has_record = std::any_of(kernels.begin(), kernels.end(), [&](const builder::RecordedKernel& kernel) {
      return kernel.kernel == one.times.name;
    });
    add_operation(one.times, word, has_record, metrics);
    if (one.parts == 1 || one.ranks == 0) continue;
    const double mean = std::round(static_cast<double>(one.times.spent.ps) / static_cast<double>(one.ranks)) / 1e6;
    metrics.emplace_back("<operation>_spent_us", mean, word);
  }
  for (const builder::RecordedKernel& kernel : kernels) add_recorded(kernel, words.at(kernel.kernel), metrics);
}

// Returns the index of the collective's first operation among the operations of all queues.
std::size_t first_operation(const builder::Exchange& exchange, const program::Program& program) {
  std::size_t first = exchange.first;
  for (std::size_t q = 0; q < exchange.queue; ++q) first += program.queues[q].operations.size();
  return first;
}

// Adds algbw and busbw in GB/s as nccl-tests defines them. The time of a collective is from its first begin on any rank
// to its last end on any rank.
void add_bandwidths(const replay::Result& result, const PreparedRun& run, const Words& words,
                    std::vector<Metric>& metrics) {
  for (const builder::Exchange& exchange : run.exchanges) {
    const std::size_t first = first_operation(exchange, *run.program);
    Time begin = Time::max();
    Time end;
    for (std::size_t o = first; o < first + exchange.operations; ++o) {
      begin = std::min(begin, result.operations[o].begin);
      end = std::max(end, result.operations[o].end);
    }
    if (exchange.operations == 0 || end <= begin) continue;
    const std::string& word = words.at(result.operations[first].name);
    if (exchange.size.value > 0) {
      const double algbw = exchange.size.value / (end - begin).seconds() * 1e-9;
      const auto rounded = [](double rate) { return std::round(rate * 1e6) / 1e6; };
      metrics.emplace_back("<operation>_algbw_gb_per_s", rounded(algbw), word);
      metrics.emplace_back("<operation>_busbw_gb_per_s", rounded(algbw * exchange.on_wire), word);
    }
    for (const auto& [kind, value] : exchange.stated) metrics.emplace_back(kind, value, word);
  }
}

void add_rank_times(const replay::Result& result, const PreparedRun& run, const Words& words,
                    std::vector<Metric>& metrics) {
  for (const builder::Exchange& exchange : run.exchanges) {
    const std::size_t first = first_operation(exchange, *run.program);
    const std::vector<RankTime> times = rank_times(exchange, first, result);
    if (times.empty()) continue;
    const std::string& word = words.at(result.operations[first].name);
    const auto add = [&](const char* part, Time RankTime::*of) {
      Time least = Time::max(), most;
      double sum = 0;
      for (const RankTime& time : times) {
        least = std::min(least, time.*of);
        most = std::max(most, time.*of);
        sum += static_cast<double>((time.*of).ps);
      }
      const double mean = std::round(sum / static_cast<double>(times.size())) / 1e6;
      metrics.emplace_back(fmt::format("<operation>_rank_{}_min_us", part), microseconds(least), word);
      metrics.emplace_back(fmt::format("<operation>_rank_{}_mean_us", part), mean, word);
      metrics.emplace_back(fmt::format("<operation>_rank_{}_max_us", part), microseconds(most), word);
    };
    add("wait", &RankTime::wait);
    add("move", &RankTime::move);
  }
}

// Adds the metrics of all parts of the machine: first the traffic of all parts, then their utilization.
void add_parts(const replay::Result& result, const machine::Machine& machine, std::vector<Metric>& metrics) {
  const auto add = [&metrics](const std::vector<part::MetricInfo>& infos, const std::vector<double>& values,
                              auto form) {
    if (values.empty()) return;  // metrics of something that the run did not use
    MOIRE_INVARIANT(infos.size() == values.size(), "a part declares another number of metrics than it returns");
    for (std::size_t i = 0; i < infos.size(); ++i) metrics.push_back({std::string(infos[i].name), form(values[i])});
  };
  const auto& parts = machine.site().parts();
  for (std::size_t p = 0; p < parts.size(); ++p) {
    add(machine::parts()[p].declaration().traffic, parts[p]->traffic(result.traffic),
        [](double value) { return value; });
  }
  for (std::size_t p = 0; p < parts.size(); ++p) {
    add(machine::parts()[p].declaration().occupied, parts[p]->occupied(result.end), percent);
  }
}

std::vector<Metric> metrics_of(const replay::Result& result, const PreparedRun& run, machine::Machine& machine) {
  const auto end = static_cast<double>(result.end.ps);
  const Time first = *std::min_element(result.rank_end.begin(), result.rank_end.end());
  std::vector<Metric> metrics;
  metrics.push_back({"time_us", microseconds(result.end)});
  metrics.push_back({"between_events_us", microseconds(between_events(result, *run.program, machine.gpu()))});
  metrics.push_back({"repeated_us", microseconds(repeated(result, *run.program, machine.gpu()))});
  metrics.push_back({"skew_percent", percent(static_cast<double>((result.end - first).ps) / end)});
  metrics.push_back({"rank_min_us", microseconds(first)});
  metrics.push_back({"rank_max_us", microseconds(*std::max_element(result.rank_end.begin(), result.rank_end.end()))});
  const std::vector<Told> operations = told(result);
  const Words words = words_of(operations);
  add_operations(operations, words, run.recorded, metrics);
  add_bandwidths(result, run, words, metrics);
  add_rank_times(result, run, words, metrics);
  metrics.push_back({"ranks", static_cast<double>(run.program->ranks())});
  metrics.push_back({"workgroups", static_cast<double>(result.workgroups)});
  add_parts(result, machine, metrics);
  return metrics;
}

// Adds power and energy of a program that is repeated. A GPU draws its idle power over the whole period of a
// repetition. It spends the energy beyond idle once per period, however long the period is.
void add_power(const replay::Result& replayed, const program::Program& program, const machine::Machine& machine,
               RunResult& result) {
  const auto* meters = machine.site().find<part::Meters>();
  if (meters == nullptr) return;
  const machine::GpuSpec& gpu = machine.gpu();
  const double idle = gpu.power->idle.value;
  const double period = repeated(replayed, program, gpu).seconds();
  double joules = 0, highest = 0, flop = 0;
  for (part::Rank rank = 0; rank < machine.ranks(); ++rank) {
    const part::Meters::Drawn drawn = meters->drawn(rank, replayed.end);
    const double own = drawn.joules + idle * (period - replayed.end.seconds());
    joules += own;
    highest = std::max(highest, drawn.highest);
    flop += drawn.matrix_flop;
    result.hottest_watts = std::max(result.hottest_watts, own / period);
    result.matrix_share = std::max(result.matrix_share, drawn.matrix_flop / period / gpu.compute.matrix_16bit.value);
  }
  const auto rounded = [](double value) { return std::round(value * 1e6) / 1e6; };
  const double images = machine.images();
  result.metrics.push_back({"clock_mhz", rounded(gpu.compute.clock.value / 1e6)});
  result.metrics.push_back({"power_mean_w", rounded(joules / machine.ranks() / period)});
  result.metrics.push_back({"power_hottest_w", rounded(result.hottest_watts)});
  result.metrics.push_back({"power_peak_w", rounded(highest)});
  result.metrics.push_back({"energy_j", rounded(joules * images)});
  const double moved = replayed.traffic.scale_up_bytes.value + replayed.traffic.put_bytes.value;
  if (flop > 0) result.metrics.push_back({"energy_per_matrix_flop_pj", rounded(joules / flop * 1e12)});
  if (moved > 0) result.metrics.push_back({"energy_per_moved_byte_pj", rounded(joules * images / moved * 1e12)});
}

// `values` has one value for each GPU, NIC or link. True if it is not empty, and `used` is false for all whose value
// differs from `nominal`: the changed values had no effect.
template <class T>
bool none_used(const std::vector<T>& values, T nominal, const std::function<bool(std::size_t)>& used) {
  if (values.empty()) return false;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i] != nominal && used(i)) return false;
  return true;
}

std::vector<std::string> unfelt(const part::Uneven& uneven, const machine::Machine& machine,
                                const replay::Result& result) {
  std::vector<std::string> notes;
  const auto simulated = [&](std::size_t rank) { return rank % machine.ranks(); };
  const auto runs = [&](std::size_t rank) { return result.rank_end[rank].ps > 0; };
  if (none_used(uneven.start, Time{}, runs))
    notes.emplace_back("perturb.start: no effect, because those ranks run nothing");
  if (none_used(uneven.clock, 1.0, [&](std::size_t rank) { return result.workgroups > 0 && runs(rank); }))
    notes.emplace_back("perturb.gpus: no effect, because those GPUs run no kernel");
  const auto& ports = machine.service<part::ScaleUp>();
  if (none_used(uneven.port, 1.0,
                [&](std::size_t rank) { return ports.carried(static_cast<program::Rank>(simulated(rank))) > 0; }))
    notes.emplace_back("perturb.ports: no effect, because their scale-up links carry nothing");
  auto& networks = machine.service<part::Networks>();
  if (networks.networks() == 0) return notes;
  std::vector<double> carried;  // by link
  for (std::size_t n = 0; n < networks.networks(); ++n) {
    const std::vector<core::LinkUse> use = networks.network(n).use();
    carried.resize(use.size());
    for (std::size_t link = 0; link < use.size(); ++link) carried[link] += use[link].carried.value;
  }
  // If one block of nodes is simulated on behalf of all blocks, the traffic of single links is not known. All links
  // then count as used.
  const bool any = machine.images() > 1;
  const auto moved = [&](std::size_t link) { return any || carried[link] > 0; };
  if (none_used(uneven.nic, 1.0, [&](std::size_t nic) { return moved(2 * nic) || moved(2 * nic + 1); }))
    notes.emplace_back("perturb.nics: no effect, because those NICs carry nothing");
  if (none_used(uneven.link, 1.0, moved))
    notes.emplace_back("perturb.links: no effect, because those links carry nothing");
  return notes;
}

std::vector<QueueResult> queues_of(const replay::Result& result, const program::Program& program) {
  std::vector<QueueResult> queues;
  std::size_t operation = 0;
  for (std::uint32_t q = 0; q < program.queues.size(); ++q) {
    const std::size_t operations = program.queues[q].operations.size();
    if (operations == 0) continue;
    const std::uint32_t family = program.family(q);
    auto own = std::find_if(queues.begin(), queues.end(), [&](const QueueResult& one) { return one.number == family; });
    if (own == queues.end())
      own = queues.insert(own, QueueResult{program.queues[family].name, family, result.queue_end[family], Time{}});
    QueueResult& queue = *own;
    for (std::size_t i = 0; i < operations; ++i, ++operation) {
      const replay::OperationTimes& times = result.operations[operation];
      if (times.first_workgroup != Time::max()) queue.waited += times.first_workgroup - times.begin;
    }
  }
  return queues;
}

std::unique_ptr<machine::Machine> machine_for(const PreparedRun& run, const machine::Apart& apart,
                                              program::Rank images) {
  if (run.machine && *run.machine && apart.queues == 1 && apart.kinds.empty() && (*run.machine)->images() == images)
    return std::exchange(*run.machine, nullptr);
  config::Problem error;
  auto machine = machine::Machine::build(*run.system, error, apart, images);
  MOIRE_INVARIANT(machine != nullptr, "a checked system was not built: " + error.str());
  return machine;
}

// Logs how busy each part of the machine was, because the busiest part is the bottleneck.
void log_busy(const RunResult& result) {
  if (!core::logs(core::LogLevel::info)) return;
  std::string busy;
  for (const Metric& metric : result.metrics) {
    if (metric.name.ends_with("_busy_percent")) busy += fmt::format(", {} {:.1f}", metric.name, metric.value);
  }
  core::log_info("ended at {:.3f} us{}", microseconds(result.time), busy);
}

}  // namespace

double microseconds(Time time) { return static_cast<double>(time.ps) / 1e6; }

namespace {

RunResult simulate_once(const PreparedRun& run, program::Observer* observer, const machine::Apart& apart,
                        core::Pulse* pulse) {
  const auto build = [&](program::Rank images) {
    auto machine = machine_for(run, apart, images);
    machine->loop().tell(pulse);
    return machine;
  };
  std::vector<bool> watched;
  for (const builder::Exchange& exchange : run.exchanges) {
    const std::size_t first = first_operation(exchange, *run.program);
    if (watched.size() < first + exchange.operations) watched.resize(first + exchange.operations);
    for (std::size_t o = first; o < first + exchange.operations; ++o) watched[o] = true;
  }
  const auto [machine, replayed, fold] = replay::run_folded(run.fold, build, *run.program, observer, watched);
  RunResult result;
  result.stats.events = machine->loop().calendar().fired();
  result.stats.instants = machine->loop().instants();
  result.stats.solves = machine->sharing().solves();
  result.fold = fold;
  result.deadlock = replayed.deadlock;
  if (!result.deadlock.empty()) return result;
  MOIRE_INVARIANT(replayed.end.ps > 0, "a program took no time");
  result.time = replayed.end;
  result.queues = queues_of(replayed, *run.program);
  result.metrics = metrics_of(replayed, run, *machine);
  add_power(replayed, *run.program, *machine, result);
  result.notes = run.notes;
  result.perturbed = run.system->uneven != nullptr;
  if (result.perturbed) result.unfelt = unfelt(*run.system->uneven, *machine, replayed);
  tell_apart(result.metrics);
  log_busy(result);
  return result;
}

}  // namespace

RunResult simulate(const PreparedRun& run, program::Observer* observer, const machine::Apart& apart,
                   core::Pulse* pulse) {
  if (!run.operating) return simulate_once(run, observer, apart, pulse);
  return at_operating_point(
      run,
      [&](const PreparedRun& at, bool last) {
        return simulate_once(at, last ? observer : nullptr, apart, last ? pulse : nullptr);
      },
      observer != nullptr);
}

}  // namespace moire::study
