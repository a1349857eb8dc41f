#include "models/microbench/library.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "models/collective/timing.hpp"
#include "models/microbench/bench.hpp"

namespace moire::models::microbench {

namespace {

// Between events before and behind it on the slowest GPU: all begin together.
Values all_to_all(const SystemSpec& system, const collective::LibrarySpec& library, const Parameters& parameters) {
  const std::int64_t gpus = count(parameters, "gpus");
  if (gpus < 2) throw std::invalid_argument(fmt::format("{} GPUs; an All-to-All is between 2 or more", gpus));
  need_gpus(system, gpus);
  const std::int64_t bytes = count(parameters, "bytes");
  if (bytes < 1) throw std::invalid_argument("0 bytes; an All-to-All sends something");
  SystemSpec node = one_node(system);
  node.node.gpus = gpus;
  const Time kernel =
      collective::all_to_all_time(node, library, Bytes{static_cast<double>(bytes)}, count(parameters, "max_ctas"));
  return {{"time", (kernel + system.node.gpu.host.event_pair).us()}};
}

}  // namespace

std::vector<Benchmark> with_library(const collective::LibrarySpec& library) {
  std::vector<Benchmark> benchmarks = all();
  for (Benchmark& benchmark : benchmarks) {
    if (benchmark.name != "nccl_all_to_all") continue;
    benchmark.run = [library](const SystemSpec& system, const Parameters& parameters) {
      return all_to_all(system, library, parameters);
    };
  }
  return benchmarks;
}

}  // namespace moire::models::microbench
