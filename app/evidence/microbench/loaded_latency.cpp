// Benchmark of copying workgroups (victims) beside workgroups that only read (background). It shows the rate that a
// victim reaches with its bytes in flight while the memory is busy.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <stdexcept>

#include "app/evidence/microbench/bench.hpp"

namespace moire::microbench {

namespace {

constexpr std::int64_t victim_threads = 512, background_threads = 1024;
// The collector's loop has 32 rounds of two batches each. Here a workgroup has 4 phases (steps) of 16 batches each. So
// few phases are enough, because rates are constant within a phase.
constexpr std::uint32_t steps = 4;
constexpr double batches_per_step = 16;

// Records the phases of victims and readers. The rates are computed from these phases, for the time in which all
// victims and readers run.
class Spans final : public program::Observer {
 public:
  void workgroup(const program::WorkgroupSpan& span) override {
    if (span.phase != "copy" && span.phase != "read") return;  // skips the delay before the work
    Kernel& kernel = span.phase == "copy" ? victims : background;
    kernel.spans.push_back({span.begin, span.end});
    Time& end = kernel.ends[span.workgroup];
    end = std::max(end, span.end);
  }
  struct Kernel {
    std::vector<std::pair<Time, Time>> spans;
    std::map<std::int64_t, Time> ends;
    // Returns the number of steps that were done by `until`. An unfinished step counts in proportion.
    double done(Time until) const {
      double sum = 0;
      for (const auto& [begin, end] : spans) {
        if (begin < until) sum += (std::min(end, until) - begin).seconds() / (end - begin).seconds();
      }
      return sum;
    }
  };
  Kernel victims, background;
};

struct Case {
  bool remote;
  std::int64_t victims, background;
  double victim_bytes, background_bytes;  // per step
};

// Rates in GB/s.
struct Rates {
  double victim;      // mean of one victim
  double background;  // sum of all readers
};

// Returns the rates of one simulated repetition. `order` has the CUs of the first GPU in random order. The first CUs
// get the victims, the next CUs the readers. `stores` is the share of stores in the memory's traffic.
Rates once(const SystemSpec& node, const Case& c, const std::vector<cu::CuId>& order, double stores) {
  const machine::GpuSpec& gpu = node.node.gpu;
  PhaseShape copy;
  copy.name = "copy";
  copy.read = 1;
  (c.remote ? copy.peer_write : copy.write) = 1;
  copy.pipelined = false;
  copy.active_threads = victim_threads;
  copy.in_flight = Bytes{c.victim_bytes / batches_per_step};
  copy.mixed_stores = c.remote ? 0 : stores;
  PhaseShape read;
  read.name = "read";
  read.read = 1;
  read.pipelined = false;
  read.in_flight = Bytes{c.background_bytes / batches_per_step};
  read.mixed_stores = c.remote ? 0 : stores;

  // As in the collector, every SM has one workgroup with one of these roles, and all workgroups start their work at the
  // same time.
  enum class Role { idle, victim, reader };
  std::vector<Role> roles(order.size());
  for (std::size_t i = 0; i < static_cast<std::size_t>(c.victims + c.background); ++i) {
    roles[order[i]] = i < static_cast<std::size_t>(c.victims) ? Role::victim : Role::reader;
  }
  const std::int64_t wgs = gpu.compute.total_cus();
  const std::vector<cu::CuId> at = places(gpu, 1, background_threads);
  const Time placed = gpu.compute.launch_interval * wgs + Time::from_us(1);
  program::Program program(static_cast<Rank>(node.node.gpus));
  program.queues = {queue("main", {kernel(
                                      "loaded", gpu, 1, [=](Rank rank) { return rank == 0 ? wgs : 0; }, {copy, read},
                                      [&, placed](Rank, std::int64_t wg, std::uint32_t step, Phase& phase) {
                                        if (step == 0) return delay(phase, placed);
                                        if (step > steps) return false;
                                        switch (roles[at[static_cast<std::size_t>(wg)]]) {
                                          case Role::victim:
                                            return work(phase, c.victim_bytes, c.remote ? 1 : 0, 0);
                                          case Role::reader:
                                            return work(phase, c.background_bytes, 0, 1);
                                          case Role::idle:
                                            break;
                                        }
                                        return false;
                                      },
                                      background_threads)})};
  Spans spans;
  simulate(node, program, &spans);
  // Rates count only while all victims and all readers run.
  Time until = Time::max();
  for (const Spans::Kernel* kernel : {&spans.victims, &spans.background}) {
    for (const auto& [workgroup, end] : kernel->ends) until = std::min(until, end);
  }
  Time from = Time::max();
  for (const auto& [first, last] : spans.victims.spans) from = std::min(from, first);
  const double ns = (until - from).ns();
  return {spans.victims.done(until) * c.victim_bytes / static_cast<double>(std::max<std::int64_t>(c.victims, 1)) / ns,
          spans.background.done(until) * c.background_bytes / ns};
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Returns the medians over three repetitions. As in the collector, each repetition draws other CUs at random. Every
// call draws the same CUs, so the result is reproducible.
Values run(const SystemSpec& system, const Parameters& parameters) {
  constexpr int repetitions = 3;
  Case c{};
  c.remote = number(parameters, "remote") != 0;
  const SystemSpec node = c.remote ? one_node(system) : one_gpu(system);
  if (c.remote) need_gpus(node, 2);
  c.victims = positive_count(parameters, "victims");
  c.background = count(parameters, "background");
  const std::int64_t cus = node.node.gpu.compute.total_cus();
  if (c.victims + c.background > cus) {
    throw std::invalid_argument(
        fmt::format("{} workgroups need an SM each; the GPU has {} SMs", c.victims + c.background, cus));
  }
  c.victim_bytes = amount(parameters, "in_flight_bytes") * batches_per_step;
  c.background_bytes = amount(parameters, "background_in_flight_bytes") * batches_per_step;
  std::mt19937 random(1);
  std::vector<double> victim, background;
  for (int i = 0; i < repetitions; ++i) {
    std::vector<cu::CuId> order(static_cast<std::size_t>(cus));
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t n = order.size(); n > 1; --n) std::swap(order[n - 1], order[random() % n]);
    Rates rates = once(node, c, order, 0);
    if (!c.remote && c.background > 0) {  // repeats the run with the share of stores in the first run
      const double stored = rates.victim * static_cast<double>(c.victims);
      rates = once(node, c, order, stored / (2 * stored + rates.background));
    }
    victim.push_back(rates.victim);
    background.push_back(rates.background);
  }
  return {{"victim_bandwidth", median(victim)}, {"background_bandwidth", median(background)}};
}

}  // namespace

std::vector<Benchmark> loaded_latency_benchmarks() {
  return {{"loaded_latency",
           "Copy workgroups beside workgroups that read.",
           {{"victims", "in_flight_bytes", "background", "background_in_flight_bytes", "remote"}},
           {{"victim_bandwidth", "GB/s"}, {"background_bandwidth", "GB/s"}},
           run}};
}

}  // namespace moire::microbench
