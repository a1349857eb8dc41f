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

// Returns the time in us between two events around a kernel whose workgroups store 16 bytes and end later.
Values store_end(const SystemSpec& system, const Parameters& parameters) {
  const bool remote = number(parameters, "remote") != 0;
  SystemSpec node = remote ? one_node(system) : one_gpu(system);
  if (remote) need_gpus(node, 2);
  const machine::GpuSpec& gpu = node.node.gpu;
  const std::int64_t wgs = positive_count(parameters, "wgs");
  const Time after = Time::from_us(number(parameters, "after_us"));
  PhaseShape store;
  store.name = "store";
  (remote ? store.peer_write : store.write) = 1;
  store.in_flight = gpu.compute.bytes_in_flight_per_cu;
  program::Program program(static_cast<Rank>(node.node.gpus));
  program.queues = {
      queue("main", {kernel(
                        "store", gpu, spread(gpu, wgs), [=](Rank rank) { return rank == 0 ? wgs : 0; }, {store},
                        [=](Rank, std::int64_t, std::uint32_t step, Phase& phase) {
                          phase.posted = step == 0;
                          return step == 0 ? work(phase, 16, remote ? 1 : 0) : step == 1 ? delay(phase, after) : false;
                        })})};
  const replay::Result result = simulate(node, program);
  return {{"time", (result.end - result.operations[0].first_workgroup + system.node.gpu.host.event_pair).us()}};
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
           run},
          {"store_end",
           "A kernel that stores to its own memory or to a peer's, between two events.",
           {{"remote", "wgs", "after_us"}},
           {{"time", "us"}},
           store_end}};
}

}  // namespace moire::microbench
