// Benchmarks of the placement of workgroups: first wave, refill of slots, clusters beside resident workgroups.
#include <algorithm>

#include "app/evidence/microbench/bench.hpp"

namespace moire::microbench {

namespace {

const Time spin = Time::from_us(20);  // as in the collector; longer than the dispatch of all workgroups

Body::Answer spinning(Time time) {
  return [=](Rank, std::int64_t, std::uint32_t step, Phase& phase) { return step == 0 && delay(phase, time); };
}

// Returns the workgroups that began before any workgroup ended.
std::vector<Stamps::Stamp> first_wave(const std::vector<Stamps::Stamp>& stamps) {
  Time first_end = Time::max();
  for (const Stamps::Stamp& stamp : stamps) first_end = std::min(first_end, stamp.end);
  std::vector<Stamps::Stamp> wave;
  for (const Stamps::Stamp& stamp : stamps) {
    if (stamp.begin < first_end) wave.push_back(stamp);
  }
  return wave;
}

// Simulates a grid of two waves. Returns the size of the first wave, the time from its first to its last start, and the
// mean time from the end of a workgroup to the start of the next workgroup in its slot.
Values dispatch(const SystemSpec& system, const Parameters& parameters) {
  const SystemSpec gpu = one_gpu(system);
  const std::int64_t per_cu = count(parameters, "wgs_per_sm");
  const std::int64_t wgs = 2 * per_cu * gpu.node.gpu.compute.total_cus();
  program::Program program(1);
  program.queues = {queue("main", {kernel(
                                      "spin", gpu.node.gpu, per_cu, [=](Rank) { return wgs; }, {}, spinning(spin))})};
  Stamps stamps;
  simulate(gpu, program, &stamps);
  const std::vector<Stamps::Stamp> wave = first_wave(stamps.of("spin"));
  Time last;
  for (const Stamps::Stamp& stamp : wave) last = std::max(last, stamp.begin);
  // On each CU, the k-th start after the first wave fills the slot of the k-th end, so the difference of their means is
  // the mean gap.
  double gap = 0;
  for (const Stamps::Stamp& stamp : wave) gap -= stamp.end.ns();
  const Time first_end =
      std::min_element(wave.begin(), wave.end(), [](const auto& a, const auto& b) { return a.end < b.end; })->end;
  for (const Stamps::Stamp& stamp : stamps.of("spin")) {
    if (stamp.begin >= first_end) gap += stamp.begin.ns();
  }
  return {{"first_wave_wgs", static_cast<double>(wave.size())},
          {"first_wave_span", (last - first_begin(wave)).ns()},
          {"slot_refill", gap / static_cast<double>(wave.size())}};
}

// Returns the number of workgroups in clusters of `cluster` that start while `blockers` other workgroups, at most one
// on a CU, are resident.
std::int64_t cluster_wave(const SystemSpec& system, std::int64_t cluster, std::int64_t blockers) {
  const SystemSpec gpu = one_gpu(system);
  const cu::CuArraySpec& compute = gpu.node.gpu.compute;
  if (cluster < 1 || cluster > compute.cluster_max) return 0;
  const std::int64_t wgs = (compute.total_cus() + cluster - 1) / cluster * cluster;
  program::Kernel clustered = kernel(
      "clustered", gpu.node.gpu, 1, [=](Rank) { return wgs; }, {}, spinning(spin));
  clustered.resources.cluster = cluster;
  program::Program program(1);
  program.queues = {
      queue("blockers", {kernel(
                            "blocker", gpu.node.gpu, 1, [=](Rank) { return blockers; }, {}, spinning(spin * 4))}),
      queue("main", {program::Delay{"blockers first", spin}, std::move(clustered)})};
  Stamps stamps;
  simulate(gpu, program, &stamps);
  // Workgroups that start only after the blockers have ended do not count.
  const std::vector<Stamps::Stamp> wave = first_wave(stamps.of("clustered"));
  return blockers > 0 && first_begin(wave) >= last_end(stamps.of("blocker")) ? 0 : std::ssize(wave);
}

Values dispatch_cluster(const SystemSpec& system, const Parameters& parameters) {
  const std::int64_t wgs = cluster_wave(system, positive_count(parameters, "cluster"), count(parameters, "blockers"));
  return {{"first_wave_wgs", static_cast<double>(wgs)}};
}

Values cluster_limit(const SystemSpec& system, const Parameters& parameters) {
  const std::int64_t cluster = positive_count(parameters, "cluster");
  return {{"clusters", static_cast<double>(cluster_wave(system, cluster, 0) / std::max<std::int64_t>(cluster, 1))}};
}

Values gpc(const SystemSpec& system, const Parameters& parameters) {
  const machine::GpuSpec& gpu = system.node.gpu;
  const std::uint32_t group = group_number(gpu, count(parameters, "gpc"));
  const cu::CuArray array(gpu.compute);
  std::int64_t cus = 0;
  for (cu::CuId cu = 0; cu < array.cus(); ++cu) cus += array.group_of(cu) == group ? 1 : 0;
  return {{"sms", static_cast<double>(cus)}};
}

}  // namespace

std::vector<Benchmark> dispatch_benchmarks() {
  return {{"dispatch",
           "First wave of a kernel and refill of its slots.",
           {{"wgs_per_sm"}},
           {{"first_wave_wgs", "1"}, {"first_wave_span", "ns"}, {"slot_refill", "ns"}},
           dispatch},
          {"dispatch_cluster",
           "First wave of clusters beside resident workgroups, one workgroup an SM.",
           {{"cluster", "blockers"}},
           {{"first_wave_wgs", "1"}},
           dispatch_cluster},
          {"cluster_limit", "Clusters that are resident together.", {{"cluster"}}, {{"clusters", "1"}}, cluster_limit},
          {"gpc", "SMs of a group (GPC).", {{"gpc"}}, {{"sms", "1"}}, gpc},
          {"sm",
           "Group of an SM, and how many blockers were placed before the SM got one.",
           {{"sm"}},
           {{"gpc", "1"}, {"blocker_order", "1"}},
           {}}};
}

}  // namespace moire::microbench
