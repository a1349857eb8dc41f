// Copy workgroups beside workgroups that only read: what bytes in flight are worth when the memory is busy.
#include <algorithm>

#include "models/microbench/bench.hpp"

namespace moire::models::microbench {

namespace {

constexpr std::int64_t victim_threads = 512, background_threads = 1024;
constexpr std::uint32_t steps = 32;

// Spans of all workgroups of a kernel, to be cut at the end of the window that both kernels share.
class Spans final : public program::Observer {
 public:
  void workgroup(const program::WorkgroupSpan& span) override {
    Kernel& kernel = span.kernel == "victim" ? victims : background;
    kernel.spans.push_back({span.begin, span.end});
    Time& end = kernel.ends[span.workgroup];
    end = std::max(end, span.end);
  }
  struct Kernel {
    std::vector<std::pair<Time, Time>> spans;
    std::map<std::int64_t, Time> ends;
    // Steps done by `until`; one that is under way counts in part.
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

Values run(const SystemSpec& system, const Parameters& parameters) {
  const bool remote = number(parameters, "remote") != 0;
  const SystemSpec node = remote ? one_node(system) : one_gpu(system);
  if (remote) need_gpus(node, 2);
  const machine::GpuSpec& gpu = node.node.gpu;
  const std::int64_t victims = count(parameters, "victims"), background = count(parameters, "background");
  const double victim_bytes = number(parameters, "in_flight_bytes") * 2;
  const double background_bytes = background > 0 ? number(parameters, "background_in_flight_bytes") * 2 : 0;

  PhaseShape copy;
  copy.name = "copy";
  copy.read = 1;
  (remote ? copy.peer_write : copy.write) = 1;
  copy.pipelined = false;
  copy.in_flight = Bytes{victim_bytes / 2};
  PhaseShape read;
  read.name = "read";
  read.read = 1;
  read.pipelined = false;
  read.in_flight = Bytes{background_bytes / 2};
  const auto on_first = [](std::int64_t wgs) { return [=](Rank rank) { return rank == 0 ? wgs : 0; }; };
  const auto step_by_step = [](double bytes, Rank peer) {
    return
        [=](Rank, std::int64_t, std::uint32_t step, Phase& phase) { return step < steps && work(phase, bytes, peer); };
  };
  program::Program program(static_cast<Rank>(node.node.gpus));
  program.queues.push_back(queue("victims", {kernel("victim", gpu, 1, on_first(victims), {copy},
                                                    step_by_step(victim_bytes, remote ? 1 : 0), victim_threads)}));
  if (background > 0) {
    program.queues.push_back(queue("background", {kernel("background", gpu, 1, on_first(background), {read},
                                                         step_by_step(background_bytes, 0), background_threads)}));
  }
  Spans spans;
  simulate(node, program, &spans);
  // Both run long; rates are those while all of them run.
  Time until = Time::max();
  for (const Spans::Kernel* kernel : {&spans.victims, &spans.background}) {
    for (const auto& [workgroup, end] : kernel->ends) until = std::min(until, end);
  }
  const double ns = until.ns();
  return {{"victim_bandwidth",
           spans.victims.done(until) * victim_bytes / static_cast<double>(std::max<std::int64_t>(victims, 1)) / ns},
          {"background_bandwidth", spans.background.done(until) * background_bytes / ns}};
}

}  // namespace

std::vector<Benchmark> loaded_latency_benchmarks() {
  return {{"loaded_latency",
           "Copy workgroups beside workgroups that read.",
           {{"victims", "in_flight_bytes", "background", "background_in_flight_bytes", "remote"}},
           {{"victim_bandwidth", "GB/s"}, {"background_bandwidth", "GB/s"}},
           run}};
}

}  // namespace moire::models::microbench
