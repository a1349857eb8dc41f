// Benchmarks of the cost of launches and events.
#include "app/evidence/microbench/bench.hpp"

namespace moire::microbench {

namespace {

program::Kernel spin(const std::string& name, const machine::GpuSpec& gpu, std::int64_t wgs, Time time) {
  return kernel(
      name, gpu, spread(gpu, wgs), [=](Rank) { return wgs; }, {},
      [=](Rank, std::int64_t, std::uint32_t step, Phase& phase) { return step == 0 && delay(phase, time); });
}

// Returns the time in us between two events around `kernels` empty kernels. It is computed like a run's metric
// between_events_us. Enqueuing costs no time here, because all kernels are enqueued before the first event happens.
double between_events(const SystemSpec& system, int kernels) {
  SystemSpec gpu = one_gpu(system);
  gpu.node.gpu.host = system.node.gpu.host;
  gpu.node.gpu.host.enqueue = {};
  program::Program program(1);
  program.queues = {queue("main", {})};
  for (int i = 0; i < kernels; ++i) {
    program.queues[0].operations.emplace_back(spin("empty " + std::to_string(i), gpu.node.gpu, 1, Time::from_ns(1)));
  }
  const replay::Result result = simulate(gpu, program);
  return (result.end - result.operations[0].first_workgroup + gpu.node.gpu.host.event_pair).us();
}

// Returns the times of launching one kernel on an idle GPU. `host_to_store` ends when the host, which polls, sees the
// kernel's store. The store is assumed to take as long as a store to a peer.
Values launch_one(const SystemSpec& system) {
  SystemSpec gpu = one_gpu(system);
  gpu.node.gpu.host = system.node.gpu.host;
  program::Program program(1);
  program.queues = {queue("main", {spin("store", gpu.node.gpu, 1, Time::from_ns(1))})};
  const replay::Result result = simulate(gpu, program);
  const Time seen = result.operations[0].first_workgroup + gpu.node.gpu.port.store_latency;
  return {{"host_call", gpu.node.gpu.host.enqueue.us()},
          {"host_to_store", seen.us()},
          {"event_pair", between_events(system, 1)},
          {"event_pair_2", between_events(system, 2)}};
}

// Returns the gap between two kernels of a queue. Both are enqueued long before the first kernel ends.
Values queue_gap(const SystemSpec& system, std::int64_t wgs) {
  SystemSpec gpu = one_gpu(system);
  gpu.node.gpu.host = system.node.gpu.host;
  const Time lead = gpu.node.gpu.host.enqueue * 2 + gpu.node.gpu.host.kernel_start + Time::from_us(10);
  program::Program program(1);
  program.queues = {
      queue("main", {spin("first", gpu.node.gpu, wgs, lead), spin("second", gpu.node.gpu, wgs, Time::from_ns(1))})};
  Stamps stamps;
  simulate(gpu, program, &stamps);
  return {{"queue_gap", (first_begin(stamps.of("second")) - last_end(stamps.of("first"))).ns()}};
}

Values run(const SystemSpec& system, const Parameters& parameters) {
  return parameters.count("wgs") == 0 ? launch_one(system) : queue_gap(system, positive_count(parameters, "wgs"));
}

}  // namespace

std::vector<Benchmark> launch_benchmarks() {
  return {{"launch",
           "Costs of the host and of the queue around a kernel.",
           {{}, {"wgs"}},
           {{"host_call", "us"},
            {"host_to_store", "us"},
            {"event_pair", "us"},
            {"event_pair_2", "us"},
            {"queue_gap", "ns"}},
           run}};
}

}  // namespace moire::microbench
