// The pipelined schedule, as in PyTorch's operators over symmetric memory (fused_all_gather_matmul and
// fused_matmul_reduce_scatter of version 2.11): a rank runs one GEMM for each rank's block of rows. GEMMs and copies
// alternate between the queue and a second stream, and kernels that exchange flags keep the ranks in step.
//
// PyTorch's ranks load the rows of their peers. A rank of the model sends its own rows, because a copy is executed by
// an engine of the GPU that has the bytes (measured within one process: docs/decisions.md, "copy engines belong to the
// source"). All ranks copy at the same time, so the end of a rank's own copy stands for the arrival of the rows that it
// waits for.
#include <algorithm>

#include "models/hardware/memory/cache.hpp"
#include "models/workload/kernel/shares.hpp"
#include "models/workload/tensor_parallel/spec.hpp"

namespace moire::tensor_parallel {

namespace {

using program::Phase;

// One workgroup raises a flag at every peer and waits for the flags of all peers. A flag is raised by an atomic
// operation in the memory of the peer, so the thread waits for the answer.
class BarrierBody final : public program::KernelBody {
 public:
  BarrierBody(program::FlagBlock flags, Rank ranks, const link::PortSpec& port)
      : flags_(flags), ranks_(ranks), fence_(port.fence), answer_(port.load_latency.value_or(port.store_latency * 2)) {}
  std::int64_t workgroups(Rank) const override { return 1; }
  bool turns(Rank) const override { return true; }
  bool phase(Rank rank, std::int64_t, std::uint32_t step, Phase& phase) const override {
    const Rank peers = ranks_ - 1;
    if (step == 0) {
      phase.kind = Phase::Kind::fence;
      phase.duration = fence_;
    } else if (step <= peers) {
      phase.kind = Phase::Kind::signal;
      phase.peer = (rank + step) % ranks_;
      phase.flag = flags_.at(phase.peer, rank);
    } else if (step == peers + 1) {
      phase.kind = Phase::Kind::delay;
      phase.duration = answer_;
    } else {
      const Rank from = step - peers - 1;
      if (from > peers) return false;
      phase.kind = Phase::Kind::wait;
      phase.flag = flags_.at(rank, (rank + from) % ranks_);
      phase.target = 1;
    }
    return true;
  }

 private:
  program::FlagBlock flags_;
  Rank ranks_;
  Time fence_, answer_;
};

void append_barrier(builder::Builder& build) {
  const Rank ranks = build.ranks();
  program::Kernel kernel;
  kernel.name = build.unique("barrier");
  kernel.resources = {.threads = build.gpu().compute.wavefront, .registers_per_thread = 32, .lds = {}};
  const program::FlagBlock flags =
      build.program.add_flags({kernel.name + ".flags", ranks, [name = kernel.name](Rank, std::uint32_t index) {
                                 return std::pair{static_cast<Rank>(index), name};
                               }});
  kernel.body = std::make_shared<BarrierBody>(flags, ranks, build.gpu().port);
  build.queue.operations.emplace_back(std::move(kernel));
}

// A kernel of one thread that spins, so that kernels of another queue are placed before the next one of this queue.
class SpinBody final : public program::KernelBody {
 public:
  explicit SpinBody(Time duration) : duration_(duration) {}
  std::int64_t workgroups(Rank) const override { return 1; }
  bool turns(Rank) const override { return true; }
  bool by_itself() const override { return true; }
  bool phase(Rank, std::int64_t, std::uint32_t step, Phase& phase) const override {
    phase.kind = Phase::Kind::delay;
    phase.instructions = true;
    phase.duration = duration_;
    return step == 0;
  }

 private:
  Time duration_;
};

constexpr double spin_clocks = 100;  // torch.cuda._sleep(100)

void append_spin(builder::Builder& build) {
  program::Kernel kernel;
  kernel.name = build.unique("spin");
  kernel.resources = {.threads = 1, .registers_per_thread = 32, .lds = {}};
  kernel.body = std::make_shared<SpinBody>(Time::from_seconds(spin_clocks / build.gpu().compute.clock.value));
  build.queue.operations.emplace_back(std::move(kernel));
}

// PyTorch's kernel for sums (reduce_kernel, bf16, over the first dimension): each thread adds up 4 elements of the
// result and loads 4 parts at a time. NVIDIA's profiler counted 274, 325 and 388 instructions of a wavefront for 2, 4
// and 8 parts on an H200 (2026-11-29), and 54 registers; a workgroup has 128 threads. A workgroup needs more time than
// for these instructions and its loads, probably because it fetches each instruction only once. sum_clocks is this
// time, fitted to sums of 4 parts of 4096 x 8192 elements. The first workgroups of a CU wait for all of this code:
// sums of 16 and 64 rows of 8192 elements take 3.1 us longer than the rest of the model says
// (traces/h200x2/symm_mem_steps.csv), the time of nine loads from memory one after the other.
constexpr std::int64_t sum_threads = 128, sum_registers = 54;
constexpr double elements_per_thread = 4, parts_at_once = 4;
constexpr double instructions_of_sum = 240, instructions_of_part = 20;
constexpr double sum_clocks = 1190;
constexpr std::int64_t loads_of_code = 9;

void append_sum(builder::Builder& build, const kernel::GemmSpec& part) {
  const double parts = build.ranks(), element = builder::bytes_of(part.dtype);
  const double own = sum_threads * elements_per_thread * element;  // bytes of a workgroup's result
  const double result = static_cast<double>(part.m) * static_cast<double>(part.n) * element;
  const double hits = memory::uniform_hit_ratio(build.gpu().l2, build.gpu().memory_side_cache, Bytes{result * parts});
  program::PhaseShape shape;
  shape.name = "sum";
  shape.read = own * parts;
  shape.read_miss = hits < 1 ? 1 : 0;
  shape.write = own;
  shape.pipelined = false;
  shape.threads = sum_threads;
  shape.in_flight = Bytes{own * std::min(parts, parts_at_once)};
  shape.instructions.all = (instructions_of_sum + instructions_of_part * parts) * static_cast<double>(sum_threads) /
                       static_cast<double>(build.gpu().compute.wavefront);
  shape.pause = Time::from_seconds(sum_clocks / build.gpu().compute.clock.value);
  program::Kernel kernel;
  kernel.name = build.unique("sum");
  kernel.resources = {.threads = sum_threads, .registers_per_thread = sum_registers, .lds = {}};
  kernel.shapes = {shape};
  kernel.body = std::make_shared<kernel::SharesBody>(result / own, 1,
                                                     builder::resident_workgroups(build, kernel.resources),
                                                     build.gpu().hbm.unloaded_latency * loads_of_code);
  build.queue.operations.emplace_back(std::move(kernel));
}

// Appends a copy of `bytes` to the rank `ahead` further on. Ranks are counted modulo the number of ranks.
void append_copy(builder::Builder& build, Bytes bytes, Rank ahead) {
  const Rank ranks = build.ranks();
  build.queue.operations.emplace_back(program::Copy{build.unique("rows"), [=](Rank rank) {
                                                      return program::Transfer{(rank + ahead) % ranks, bytes};
                                                    }});
}

}  // namespace

// A rank copies its rows to memory that its peers can read. In step s it gets the rows of rank r + s, and its own rows
// go to rank r - s. In the end it copies its own rows to the gathered matrix, which is part of the result.
void append_pipelined(builder::Builder& build, const AllGatherGemmSpec& spec) {
  const Rank ranks = build.ranks();
  const kernel::GemmSpec part = part_of(own_product(spec, ranks), ranks);
  const Bytes bytes = exchange_of(spec, ranks).bytes;
  append_barrier(build);
  append_copy(build, bytes, 0);
  append_barrier(build);
  program::Queue& second = build.fork("second");
  builder::Builder beside = of_stream(build, second);
  kernel::append_gemm(build, part);
  for (Rank step = 1; step < ranks; ++step) {
    builder::Builder& own = step % 2 == 0 ? build : beside;
    append_copy(own, bytes, ranks - step);
    kernel::append_gemm(own, part);
  }
  append_copy(ranks % 2 == 0 ? build : beside, bytes, 0);
  build.join(second, build.unique(second.name + "_joins"));
  append_barrier(build);
}

// In step s a rank computes its part of the rows of rank r + s and sends it there, between two barriers: the memory
// that peers read is used again two steps later. Its own rows come last. The first GEMM of the second stream is placed
// before that of the queue, on all ranks.
void append_pipelined(builder::Builder& build, const GemmReduceScatterSpec& spec) {
  const Rank ranks = build.ranks();
  const kernel::GemmSpec part = part_of(own_product(spec, ranks), ranks);
  const Bytes bytes{static_cast<double>(part.m) * static_cast<double>(part.n) * builder::bytes_of(part.dtype)};
  append_barrier(build);
  program::Queue& second = build.fork("second");
  builder::Builder beside = of_stream(build, second);
  for (Rank step = 1; step < ranks; ++step) {
    builder::Builder& own = step % 2 == 0 ? build : beside;
    if (step == 2) append_spin(own);
    kernel::append_gemm(own, part);
    append_barrier(own);
    append_copy(own, bytes, step);
    append_barrier(own);
  }
  if (ranks == 2) append_spin(build);
  kernel::append_gemm(build, part);
  build.join(second, build.unique(second.name + "_joins"));
  append_barrier(build);
  append_sum(build, part);
}

}  // namespace moire::tensor_parallel
