#include "app/evidence/microbench/library.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "app/evidence/microbench/bench.hpp"
#include "app/evidence/microbench/msccl.hpp"
#include "models/workload/collective/timing.hpp"

namespace moire::microbench {

namespace {

using collective::Collective;
using collective::Kind;

// Returns a system of one node that has only the GPUs that take part in the benchmark.
libraries::EquippedSystem participants(const SystemSpec& system, const Parameters& parameters, const char* what) {
  const std::int64_t gpus = count(parameters, "gpus");
  if (gpus < 2) throw std::invalid_argument(fmt::format("gpus is {}; {} needs 2 or more GPUs", gpus, what));
  need_gpus(system, gpus);
  libraries::EquippedSystem node{one_node(system)};
  node.node.gpus = gpus;
  return node;
}

Bytes bytes_of(const Parameters& parameters, const char* name, const char* what) {
  const std::int64_t bytes = count(parameters, name);
  if (bytes < 1) throw std::invalid_argument(fmt::format("{} is 0; {} sends at least 1 byte", name, what));
  return Bytes{static_cast<double>(bytes)};
}

// Returns the time of a collective between two events on the slowest GPU. All GPUs begin together.
Values time_of(const SystemSpec& system, const libraries::EquippedSystem& node, const Collective& collective) {
  return {{"time", (collective::time_of(node, collective) + system.node.gpu.host.event_pair).us()}};
}

Values by_library(const SystemSpec& system, const collective::Method& method, Kind kind, const char* bytes,
                  const Parameters& parameters) {
  const char* what = "a collective";
  const libraries::EquippedSystem node = participants(system, parameters, what);
  Collective made{.kind = kind, .bytes = bytes_of(parameters, bytes, what), .method = method};
  // The parameter `bytes` is the size for one peer. The size of the collective is the whole input of a rank.
  if (std::string(bytes) == "bytes") made.bytes = made.bytes * static_cast<double>(node.node.gpus);
  const std::int64_t channels = count(parameters, "max_ctas");
  if (channels > 0) made.method.channels = channels;
  return time_of(system, node, made);
}

}  // namespace

std::vector<Benchmark> with_library(const libraries::LibrarySpec& library) {
  struct Own {
    const char* benchmark;
    Kind kind;
    const char* bytes;
  };
  constexpr Own own[] = {{"nccl_all_to_all", Kind::all_to_all, "bytes"},
                         {"all_to_all_nccl", Kind::all_to_all, "bytes_per_rank"},
                         {"all_gather_nccl", Kind::all_gather, "bytes_per_rank"},
                         {"all_reduce_nccl", Kind::all_reduce, "bytes_per_rank"},
                         {"reduce_scatter_nccl", Kind::reduce_scatter, "bytes_per_rank"}};
  collective::Method method;
  method.library = library;
  std::vector<Benchmark> benchmarks = all();
  for (Benchmark& benchmark : benchmarks) {
    for (const Own& one : own) {
      if (benchmark.name != one.benchmark) continue;
      if (one.kind != Kind::all_to_all && !library.channels) continue;
      benchmark.run = [method, one](const SystemSpec& system, const Parameters& parameters) {
        return by_library(system, method, one.kind, one.bytes, parameters);
      };
    }
  }
  with_interpreter(library, benchmarks);
  return benchmarks;
}

}  // namespace moire::microbench
