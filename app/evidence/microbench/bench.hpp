// Helpers of all benchmarks. They make kernels from plain functions, record time stamps and compute rates. They take
// time stamps where the kernels of the collector (validation/collect) take them on a GPU.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "app/evidence/microbench/microbench.hpp"
#include "models/hardware/cu/dispatcher.hpp"
#include "models/hardware/machine/spec.hpp"
#include "models/hardware/replay/replay.hpp"

namespace moire::microbench {

using machine::SystemSpec;
using program::Phase;
using program::PhaseShape;
using program::Rank;

// Each function returns the benchmarks of one source file; all() joins them.
std::vector<Benchmark> launch_benchmarks();
std::vector<Benchmark> dispatch_benchmarks();
std::vector<Benchmark> memory_benchmarks();
std::vector<Benchmark> loaded_latency_benchmarks();
std::vector<Benchmark> rate_benchmarks();
std::vector<Benchmark> peer_benchmarks();
std::vector<Benchmark> epilogue_benchmarks();
std::vector<Benchmark> fence_benchmarks();
std::vector<Benchmark> copy_benchmarks();
std::vector<Benchmark> behind_benchmarks();
std::vector<Benchmark> gemm_benchmarks();
std::vector<Benchmark> collective_benchmarks();
std::vector<Benchmark> msccl_benchmarks();
std::vector<Benchmark> power_benchmarks();

constexpr std::int64_t default_threads = 256;

// Return a parameter of a row. Throw std::invalid_argument if it is missing. count() also throws if it is negative or
// no integer, amount() if it is not above 0, and positive_count() if it is no integer or below 1.
double number(const Parameters& parameters, const std::string& name);
double amount(const Parameters& parameters, const std::string& name);
std::int64_t count(const Parameters& parameters, const std::string& name);
std::int64_t positive_count(const Parameters& parameters, const std::string& name);

// Return a system of one GPU, or of one node without NICs. The host's costs are 0, because most measurements exclude
// them.
SystemSpec one_gpu(const SystemSpec& system);
SystemSpec one_node(const SystemSpec& system);
// Throws std::invalid_argument if a node has fewer GPUs than `gpus`, or no links between its GPUs.
void need_gpus(const SystemSpec& system, std::int64_t gpus);

class Body final : public program::KernelBody {
 public:
  using Count = std::function<std::int64_t(Rank)>;
  using Answer = std::function<bool(Rank, std::int64_t workgroup, std::uint32_t step, Phase&)>;
  Body(Count count, Answer answer) : count_(std::move(count)), answer_(std::move(answer)) {}
  std::int64_t workgroups(Rank rank) const override { return count_(rank); }
  bool phase(Rank rank, std::int64_t workgroup, std::uint32_t step, Phase& phase) const override {
    return answer_(rank, workgroup, step, phase);
  }

 private:
  Count count_;
  Answer answer_;
};

// Returns a kernel whose workgroups use so much LDS that exactly `per_cu` of them fit on a CU. Therefore every CU gets
// `per_cu` workgroups if their number is `per_cu` times the number of CUs. The collector's grids are spread as evenly.
program::Kernel kernel(const std::string& name, const machine::GpuSpec& gpu, std::int64_t per_cu, Body::Count count,
                       std::vector<PhaseShape> shapes, Body::Answer answer, std::int64_t threads = default_threads);
program::Queue queue(const std::string& name, std::vector<program::Operation> operations);
// Returns the largest number of workgroups on a CU if `wgs` workgroups are spread evenly.
std::int64_t spread(const machine::GpuSpec& gpu, std::int64_t wgs);

// Records the start and the end of every workgroup, as the collector's kernels do.
class Stamps final : public program::Observer {
 public:
  // If `only` is not empty, records only the phases with this name.
  explicit Stamps(std::string only = "") : only_(std::move(only)) {}
  struct Stamp {
    Time begin = Time::max();
    Time end;
    std::uint32_t cu = 0;
  };
  void workgroup(const program::WorkgroupSpan& span) override;
  const std::vector<Stamp>& of(const std::string& kernel, Rank rank = 0) const;
  // Returns the stamps of the workgroups that took more than 0 ps.
  std::vector<Stamp> worked(const std::string& kernel, Rank rank = 0) const;

 private:
  std::string only_;
  std::map<std::pair<std::string, Rank>, std::vector<Stamp>> stamps_;
};

Time first_begin(const std::vector<Stamps::Stamp>& stamps);
Time last_end(const std::vector<Stamps::Stamp>& stamps);
// Rates in GB/s. `total` is the bytes of all workgroups, divided by the time from the first begin to the last end.
// `per_wg` is the bytes of a workgroup, divided by the mean time of a workgroup.
struct Rate {
  double total = 0;
  double per_wg = 0;
};
Rate rate(const std::vector<Stamps::Stamp>& stamps, double bytes_per_wg);

// Returns the CU of every workgroup of a grid that fills an idle GPU. The index is the number of the workgroup.
std::vector<cu::CuId> places(const machine::GpuSpec& gpu, std::int64_t per_cu, std::int64_t threads = default_threads);

// Returns the index in `gpu` of the group with the collector's number `gpc`. The collector numbers groups in the order
// of their lowest SM numbers. Groups whose CUs all fill first come last, because their SMs have the highest numbers.
// Throws std::invalid_argument if there is no such group.
std::uint32_t group_number(const machine::GpuSpec& gpu, std::int64_t gpc);

// Runs a kernel on some CUs only, as the collector does, and returns the stamps of the workgroups that worked. A grid
// fills the GPU with `per_cu` workgroups on each CU. Each workgroup on one of `cus` does `amount` units of `shape`, and
// the other workgroups end.
std::vector<Stamps::Stamp> run_on(const SystemSpec& gpu, const std::vector<cu::CuId>& cus, std::int64_t per_cu,
                                  const PhaseShape& shape, double amount);

// Returns the result of a simulated program. Fails if the program deadlocks, because that is a bug of the benchmark.
replay::Result simulate(const SystemSpec& system, const program::Program& program,
                        program::Observer* observer = nullptr);

inline bool work(Phase& phase, double amount, Rank peer = 0, std::uint16_t shape = 0) {
  phase.kind = Phase::Kind::work;
  phase.amount = amount;
  phase.peer = peer;
  phase.shape = shape;
  return true;
}
inline bool delay(Phase& phase, Time duration) {
  phase.kind = Phase::Kind::delay;
  phase.duration = duration;
  return true;
}

}  // namespace moire::microbench
