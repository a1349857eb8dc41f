#include "app/evidence/microbench/microbench.hpp"

#include <iterator>

#include "app/evidence/microbench/bench.hpp"

namespace moire::microbench {

namespace {

Benchmark victim(std::string name, std::string description, std::string metric, std::string unit) {
  return {std::move(name),
          std::move(description),
          {{"m", "n", "k", "stream_bytes", "zeros", "times", "unroll"},
           {"m", "n", "k", "stream_bytes", "zeros", "times", "idle_us", "unroll"}},
          {{std::move(metric), std::move(unit)}},
          {}};
}

// Returns the entries without a simulation: properties of a GPU, and benchmarks that the models do not predict.
std::vector<Benchmark> facts() {
  return {
      {"property",
       "Properties of the GPU that the driver states.",
       {{}},
       {{"sms", "1"},
        {"l2_bytes", "B"},
        {"memory_bytes", "B"},
        {"memory_peak", "GB/s"},
        {"clock", "MHz"},
        {"threads_per_sm", "1"},
        {"wgs_per_sm", "1"},
        {"registers_per_sm", "1"},
        {"shared_bytes_per_sm", "B"},
        {"copy_engines", "1"},
        {"link_count", "1"},
        {"link_rate", "GB/s"}},
       {}},
      {"peer_store_way",
       "Instructions and layouts of stores to a peer; the models have only one kind of store.",
       {{"way", "interleaved", "threads", "wgs", "wg_bytes"}},
       {{"bandwidth", "GB/s"}},
       {}},
      {"l2_add",
       "Additions to words in the L2; the models take their bandwidth from the hardware file.",
       {{"lanes_per_word", "active", "operations"}},
       {{"bandwidth", "GB/s"}},
       {}},
      {"l2_add_grid",
       "Additions to words in the L2 by grids of few workgroups; the models take the number of slices of the L2 from "
       "the hardware file.",
       {{"wgs", "adds", "operations"}},
       {{"time", "us"}},
       {}},
      {"l2_add_beside",
       "Copying workgroups beside additions to words in the L2; the models have no latency of the L2 under load.",
       {{"victims", "in_flight_bytes", "adders", "operations", "remote"}},
       {{"victim_bandwidth", "GB/s"}, {"add_bandwidth", "GB/s"}},
       {}},
      {"matrix_clock",
       "Matrix products out of the L2 while other SMs read memory or copies run; the models take the clock from the "
       "hardware file.",
       {{"sms", "readers"}, {"sms", "readers", "sending", "receiving", "piece_bytes"}},
       {{"clock", "MHz"}, {"flops_per_sm", "GFLOP/s"}, {"bandwidth", "GB/s"}, {"copied", "GB/s"}},
       {}},
      {"fence_beside",
       "Fences beside bulk loads of their SM; the models take what they cost from the hardware file.",
       {{"loads", "pace_ns", "stores"}},
       {{"fence", "ns"}, {"loaded", "GB/s"}},
       {}},
      {"flag_check",
       "A look at a flag that is set, beside bulk loads of its SM.",
       {{"loads", "pace_ns", "what"}},
       {{"look", "ns"}, {"loaded", "GB/s"}},
       {}},
      {"l2_beside_peer",
       "A kernel that reads a buffer again and again while a peer writes into its GPU's memory; the models do not let "
       "incoming lines displace others in the cache.",
       {{"footprint_bytes", "way", "wgs", "region_bytes"}},
       {{"read_bandwidth", "GB/s"}, {"incoming_bandwidth", "GB/s"}},
       {}},
      {"peer_add",
       "Tiles that workgroups add from shared memory between spins; the models take their cost from the hardware file.",
       {{"remote", "senders", "wgs", "spin_us", "wait"}},
       {{"over_spin", "ns"}, {"over_spin_slowest", "ns"}},
       {}},
      {"store_flag",
       "Stores to a peer, a fence, a flag, and the peer's answer.",
       {{"bulk", "store_bytes"}},
       {{"stores", "ns"}, {"fence", "ns"}, {"answer", "ns"}, {"time", "ns"}},
       {}},
      {"copy_flagged_pull",
       "Copies from a peer with a flag after each; in the models only the GPU with the data copies.",
       {{"bytes", "copies"}},
       {{"time", "us"}},
       {}},
      {"copy_after_idle",
       "A copy to a peer, with or without a flag, after idle time or a kernel; the models take what a flag costs from "
       "the hardware file.",
       {{"bytes", "work", "idle_us", "flag"}},
       {{"time", "us"}},
       {}},
      {"after_load",
       "The time of a GEMM and the clock of an SM while it begins, after idle time or a load; the models take how the "
       "clock dips from the hardware file.",
       {{"m", "n", "k", "load", "evict"},
        {"m", "n", "k", "load", "evict", "gap_us"},
        {"m", "n", "k", "load", "evict", "from_us"},
        {"m", "n", "k", "load", "evict", "gap_us", "from_us"}},
       {{"time", "us"}, {"clock", "MHz"}},
       {}},
      {"chase_after_load",
       "A chain of dependent loads after idle time or a load of GEMMs.",
       {{"footprint_bytes", "load"}},
       {{"latency", "ns"}, {"clock", "MHz"}},
       {}},
      {"read_after_load",
       "Reads by all SMs after idle time or a load of GEMMs.",
       {{"footprint_bytes", "load"}},
       {{"bandwidth", "GB/s"}},
       {}},
      {"nccl_all_to_all",
       "NCCL's grouped send and receive of every rank, its own share included.",
       {{"bytes", "gpus", "max_ctas"}},
       {{"time", "us"}},
       {}},
      {"clock",
       "The clock of an SM while a GEMM or a stream runs.",
       {{"m", "n", "k", "stream_bytes", "zeros", "times", "idle_us", "window_us", "from_us"}},
       {{"clock", "MHz"}},
       {}},
      {"busy_time",
       "The time of each GEMM or stream of a series, with idle time in between.",
       {{"m", "n", "k", "stream_bytes", "zeros", "times", "idle_us", "number"}},
       {{"time", "us"}},
       {}},
      victim("victim_chase", "A chain of dependent loads beside GEMMs or streams.", "latency", "ns"),
      victim("victim_copy", "A workgroup that copies beside GEMMs or streams.", "bandwidth", "GB/s"),
      victim("victim_peer", "A workgroup that copies to a peer's memory beside GEMMs or streams.", "bandwidth", "GB/s"),
      {"copy_looks",
       "How far apart the two clusters of times lie of a kernel behind a copy to a peer.",
       {{"bytes", "second", "gpus", "minute"}},
       {{"apart", "us"}},
       {}},
      {"timer", "The GPU's own timer.", {{}}, {{"resolution", "ns"}, {"read_cost", "ns"}, {"sm_clock", "MHz"}}, {}},
      {"power",
       "Clocks and power, before and after all benchmarks.",
       {{"when"}},
       {{"sm_clock", "MHz"}, {"memory_clock", "MHz"}, {"power", "W"}},
       {}},
  };
}

std::vector<Benchmark> join() {
  std::vector<Benchmark> all = facts();
  for (auto part : {launch_benchmarks, dispatch_benchmarks, memory_benchmarks, loaded_latency_benchmarks,
                    rate_benchmarks, peer_benchmarks, epilogue_benchmarks, fence_benchmarks, copy_benchmarks,
                    behind_benchmarks, gemm_benchmarks, collective_benchmarks, msccl_benchmarks, power_benchmarks}) {
    std::vector<Benchmark> some = part();
    std::move(some.begin(), some.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace

const std::vector<Benchmark>& all() {
  static const std::vector<Benchmark> benchmarks = join();
  return benchmarks;
}

const Benchmark* find(const std::string& name) {
  for (const Benchmark& benchmark : all()) {
    if (benchmark.name == name) return &benchmark;
  }
  return nullptr;
}

}  // namespace moire::microbench
