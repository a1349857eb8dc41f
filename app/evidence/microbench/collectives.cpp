// Benchmarks of collectives between all GPUs of a process. Collectives of a library are simulated with the library's
// profile (library.hpp).
#include <fmt/format.h>

#include <stdexcept>

#include "app/evidence/microbench/bench.hpp"
#include "models/workload/collective/collective.hpp"

namespace moire::microbench {

namespace {

using collective::Kind;

// Returns the time of a collective by copy engines. As in the collector, the copies of a GPU wait behind a gate on its
// stream: a kernel of one thread that waits for the host and for the gates of all other GPUs. The time counts from the
// end of the gates. A GPU does not copy its own share.
Values by_copies(const SystemSpec& system, Kind kind, const Parameters& parameters) {
  const std::int64_t gpus = count(parameters, "gpus");
  if (gpus < 2) throw std::invalid_argument(fmt::format("gpus is {}; a collective needs 2 or more GPUs", gpus));
  need_gpus(system, gpus);
  const std::int64_t bytes = count(parameters, "bytes_per_rank");
  if (bytes < 1) throw std::invalid_argument("bytes_per_rank is 0; a collective sends at least 1 byte");
  libraries::EquippedSystem node{one_node(system)};
  node.node.gpus = gpus;
  node.node.gpu.host.event_pair = system.node.gpu.host.event_pair;
  program::Program program(static_cast<Rank>(gpus));
  const Time gate = Time::from_us(100);
  program.queues.push_back(queue("copies", {program::Delay{"gate", gate}}));
  builder::Builder build{node, program, program.queues[0]};
  const collective::Collective made{
      .kind = kind,
      .bytes = Bytes{static_cast<double>(bytes)},
      .method = {
          .engine = collective::Engine::dma,
          .streams = count(parameters, "streams") == 1 ? collective::Streams::one : collective::Streams::per_peer}};
  append(build, made, name_of(kind));
  return {{"time", (simulate(node, program).end - gate).us()}};
}

Benchmark by_library(std::string name, std::string description) {
  return {std::move(name), std::move(description), {{"bytes_per_rank", "gpus", "max_ctas"}}, {{"time", "us"}}, {}};
}

Benchmark by_copies(std::string name, std::string description, Kind kind) {
  return {
      std::move(name),
      std::move(description),
      {{"bytes_per_rank", "gpus", "streams"}},
      {{"time", "us"}},
      [kind](const SystemSpec& system, const Parameters& parameters) { return by_copies(system, kind, parameters); }};
}

}  // namespace

std::vector<Benchmark> collective_benchmarks() {
  return {
      by_library("all_gather_nccl", "NCCL's all-gather."),
      by_library("all_to_all_nccl", "NCCL's grouped send and receive."),
      by_library("all_reduce_nccl", "NCCL's all-reduce."),
      by_library("reduce_scatter_nccl", "NCCL's reduce-scatter."),
      by_copies("all_gather_copy", "An all-gather by copy engines.", Kind::all_gather),
      by_copies("all_to_all_copy", "An all-to-all by copy engines.", Kind::all_to_all),
  };
}

}  // namespace moire::microbench
