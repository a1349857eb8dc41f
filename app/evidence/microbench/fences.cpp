// Benchmarks of the time of a release fence, on an idle machine and beside stores of all workgroups.
#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "app/evidence/microbench/bench.hpp"

namespace moire::microbench {

namespace {

bool fence(Phase& phase, const machine::GpuSpec& gpu) {
  phase.kind = Phase::Kind::fence;
  phase.duration = gpu.port.fence;
  return true;
}

bool post(Phase& phase, double bytes, Rank peer, std::uint16_t shape) {
  phase.posted = true;
  return work(phase, bytes, peer, shape);
}

PhaseShape stores(const machine::GpuSpec& gpu, bool remote, std::int64_t per_cu) {
  PhaseShape shape;
  shape.name = "store";
  (remote ? shape.peer_write : shape.write) = 1;
  shape.in_flight = gpu.compute.bytes_in_flight_per_cu / static_cast<double>(per_cu);
  return shape;
}

constexpr Time common_start = Time::from_us(40);  // when the workgroups begin; all are resident by then

// Returns the node of a benchmark that stores to its own memory or, if `remote`, to a peer.
SystemSpec node_of(const SystemSpec& system, bool remote) {
  SystemSpec node = remote ? one_node(system) : one_gpu(system);
  if (remote) need_gpus(node, 2);
  return node;
}

// The collector leaves out the first fences of its kernels.
SystemSpec without_first_fence(SystemSpec node) {
  node.node.gpu.port.first_fence.reset();
  return node;
}

Values idle(const SystemSpec& system, const Parameters& parameters) {
  const bool remote = number(parameters, "remote") != 0;
  const SystemSpec node = without_first_fence(node_of(system, remote));
  const machine::GpuSpec& gpu = node.node.gpu;
  const double bytes = number(parameters, "store_bytes");
  program::Program program(static_cast<Rank>(node.node.gpus));
  program.queues = {queue(
      "main", {kernel(
                  "release", node.node.gpu, 1, [](Rank rank) { return rank == 0 ? 1 : 0; }, {stores(gpu, remote, 1)},
                  [=, &gpu](Rank, std::int64_t, std::uint32_t step, Phase& phase) {
                    return step == 0 ? post(phase, bytes, remote ? 1 : 0, 0) : step == 1 ? fence(phase, gpu) : false;
                  })})};
  Stamps stamps;
  simulate(node, program, &stamps);
  return {{"time", last_end(stamps.of("release")).ns()}};
}

// Workgroups store and fence. Workgroup `wg` begins turns[wg] x apart_ns after the common start. Returns when each of
// them ends, in ns after the common start.
std::vector<double> ends(const SystemSpec& node, const Parameters& parameters, std::int64_t per_cu,
                         const std::vector<std::int64_t>& turns) {
  const machine::GpuSpec& gpu = node.node.gpu;
  const bool remote = number(parameters, "remote") != 0;
  const double bytes = number(parameters, "store_bytes");
  const Time apart = Time::from_ns(number(parameters, "apart_ns"));
  const auto wgs = static_cast<std::int64_t>(turns.size());
  program::Program program(static_cast<Rank>(node.node.gpus));
  program.queues = {queue(
      "main", {kernel(
                  "release", gpu, per_cu, [=](Rank rank) { return rank == 0 ? wgs : 0; }, {stores(gpu, remote, per_cu)},
                  [=, &gpu](Rank, std::int64_t wg, std::uint32_t step, Phase& phase) {
                    return step == 0   ? delay(phase, common_start + apart * turns[static_cast<std::size_t>(wg)])
                           : step == 1 ? post(phase, bytes, remote ? 1 : 0, 0)
                           : step == 2 ? fence(phase, gpu)
                                       : false;
                  })})};
  Stamps stamps;
  simulate(node, program, &stamps);
  std::vector<double> times;
  for (const Stamps::Stamp& stamp : stamps.of("release")) times.push_back((stamp.end - common_start).ns());
  return times;
}

// Workgroups of all CUs. Those of a CU begin some time apart.
Values together(const SystemSpec& system, const Parameters& parameters) {
  const SystemSpec node = without_first_fence(node_of(system, number(parameters, "remote") != 0));
  const machine::GpuSpec& gpu = node.node.gpu;
  const std::int64_t per_cu = positive_count(parameters, "wgs_per_sm");
  std::vector<std::int64_t> turns, on_cu(static_cast<std::size_t>(gpu.compute.total_cus()));
  for (const cu::CuId cu : microbench::places(gpu, per_cu)) turns.push_back(on_cu[cu]++);
  const std::vector<double> times = ends(node, parameters, per_cu, turns);
  const auto [first, last] = std::minmax_element(times.begin(), times.end());
  const double sum = std::accumulate(times.begin(), times.end(), 0.0);
  return {{"first", *first}, {"mean", sum / static_cast<double>(times.size())}, {"last", *last}};
}

// Workgroups on CUs of their own, one some time after the other. Measured are the times of the first and the last one.
Values first(const SystemSpec& system, const Parameters& parameters) {
  const SystemSpec node = node_of(system, number(parameters, "remote") != 0);
  std::vector<std::int64_t> turns(static_cast<std::size_t>(positive_count(parameters, "wgs")));
  std::iota(turns.begin(), turns.end(), 0);
  const double began = number(parameters, "apart_ns") * static_cast<double>(turns.back());
  const std::vector<double> now = ends(node, parameters, 1, turns);
  const std::vector<double> later = ends(without_first_fence(node), parameters, 1, turns);
  return {{"first", now.front()},
          {"last", now.back() - began},
          {"first_later", later.front()},
          {"last_later", later.back() - began}};
}

class Fences final : public program::Observer {
 public:
  void workgroup(const program::WorkgroupSpan& span) override {
    if (span.phase == "fence") times_[span.workgroup].push_back((span.end - span.begin).ns());
  }
  // Returns the median time of a fence, in ns, over all workgroups and over their rounds from number `first` on.
  double median(std::size_t first) const {
    std::vector<double> all;
    for (const auto& [workgroup, times] : times_) {
      for (std::size_t round = first; round < times.size(); ++round) all.push_back(times[round]);
    }
    const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
    std::nth_element(all.begin(), middle, all.end());
    return *middle;
  }

 private:
  std::map<std::int64_t, std::vector<double>> times_;
};

constexpr std::uint32_t rounds = 16, settled = 4;  // as in the collector; the first 4 rounds build up the load

Values loaded(const SystemSpec& system, const Parameters& parameters) {
  const SystemSpec node = one_node(system);
  const machine::GpuSpec& gpu = node.node.gpu;
  const std::int64_t per_cu = count(parameters, "wgs_per_sm"), peers = count(parameters, "peers");
  if (peers < 1) throw std::invalid_argument("peers must be 1 or more");
  need_gpus(node, peers + 1);
  const double gathered = number(parameters, "gather_bytes"), stored = number(parameters, "store_bytes");
  const std::int64_t wgs = per_cu * gpu.compute.total_cus();
  PhaseShape gather;
  gather.name = "gather";
  gather.read = 1;
  gather.pipelined = false;
  gather.random_rows = true;
  gather.in_flight = Bytes{32 * 1024.0};  // 8 loads of 16 B by each of 256 threads
  program::Program program(static_cast<Rank>(node.node.gpus));
  program.queues = {queue("main", {kernel(
                                      "rounds", gpu, per_cu, [=](Rank rank) { return rank == 0 ? wgs : 0; },
                                      {gather, stores(gpu, true, per_cu)},
                                      [=, &gpu](Rank, std::int64_t wg, std::uint32_t step, Phase& phase) {
                                        if (step >= 3 * rounds) return false;
                                        const auto peer = static_cast<Rank>(1 + wg % peers);
                                        return step % 3 == 0   ? work(phase, gathered)
                                               : step % 3 == 1 ? post(phase, stored, peer, 1)
                                                               : fence(phase, gpu);
                                      })})};
  Fences fences;
  simulate(node, program, &fences);
  return {{"time", fences.median(settled)}};
}

}  // namespace

std::vector<Benchmark> fence_benchmarks() {
  return {{"fence",
           "First store to the return of a system fence, one workgroup.",
           {{"remote", "store_bytes"}},
           {{"time", "ns"}},
           idle},
          {"first_fence",
           "Stores and a system fence of workgroups on several CUs, as a kernel's first fence and as a later one.",
           {{"remote", "wgs", "store_bytes", "apart_ns"}},
           {{"first", "ns"}, {"last", "ns"}, {"first_later", "ns"}, {"last_later", "ns"}},
           first},
          {"fences_together",
           "Stores and a system fence of all workgroups, which begin together or a fixed time apart.",
           {{"remote", "wgs_per_sm", "store_bytes", "apart_ns"}},
           {{"first", "ns"}, {"mean", "ns"}, {"last", "ns"}},
           together},
          {"loaded_fence",
           "A system fence behind gather and store, all workgroups busy.",
           {{"wgs_per_sm", "gather_bytes", "store_bytes", "peers"}},
           {{"time", "ns"}},
           loaded}};
}

}  // namespace moire::microbench
