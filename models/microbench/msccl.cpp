// Small MSCCL plans, each of which shows one cost of the interpreter that validation/msccl runs on GPUs.
#include "models/microbench/bench.hpp"

namespace moire::models::microbench {

namespace {

Benchmark plan(std::string name, std::string about, std::vector<std::string> parameters) {
  parameters.insert(parameters.begin(), "ll");
  parameters.emplace_back("chunk_bytes");
  return {std::move(name), std::move(about), {std::move(parameters)}, {{"time", "us"}, {"inside", "us"}}, {}};
}

}  // namespace

std::vector<Benchmark> msccl_benchmarks() {
  return {
      plan("msccl_copy", "Thread blocks of one GPU copy a chunk each.", {"blocks"}),
      plan("msccl_steps", "A thread block copies a chunk again and again.", {"steps"}),
      plan("msccl_dependency", "Two thread blocks of one GPU take turns.", {"hops"}),
      plan("msccl_reduce", "Thread blocks of one GPU add chunks in one pass.", {"sources", "blocks"}),
      plan("msccl_ping", "A chunk back and forth between two GPUs.", {"hops"}),
      plan("msccl_stream", "Connections from one GPU to another, or both ways.", {"connections", "both"}),
      plan("msccl_kind", "A GPU sends, another takes in a way of its own.", {"kind", "connections"}),
      plan("msccl_sends", "One connection, a step for each chunk.", {"steps"}),
      {"msccl_fifo",
       "Whether two GPUs that send before they receive come to an end.",
       {{"ll", "calls", "chunk_bytes"}},
       {{"ended", "1"}},
       {}},
  };
}

}  // namespace moire::models::microbench
