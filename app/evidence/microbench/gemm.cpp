// Benchmarks of the GPU library's GEMMs and of element-wise kernels, alone and beside workgroups that occupy SMs.
#include "models/workload/kernel/gemm.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "app/evidence/microbench/bench.hpp"
#include "models/workload/kernel/stream.hpp"

namespace moire::microbench {

namespace {

// Appends the operations of a GEMM, as the operator of a scenario does.
void append_gemm(builder::Builder& build, const Parameters& parameters) {
  kernel::GemmSpec spec;
  spec.m = positive_count(parameters, "m");
  spec.n = positive_count(parameters, "n");
  spec.k = positive_count(parameters, "k");
  if (const auto problem = kernel::check_gemm(spec, build.system)) throw std::invalid_argument(problem->str());
  kernel::append_gemm(build, spec);
}

// Appends a kernel like the collector's: each of the 256 threads of a workgroup loads 4 x 16 B of every input and then
// stores.
void append_stream(builder::Builder& build, const Parameters& parameters) {
  kernel::StreamSpec spec;
  spec.inputs = positive_count(parameters, "inputs");
  spec.bytes = Bytes{amount(parameters, "bytes")};
  spec.schedule = number(parameters, "grid_stride") != 0 ? kernel::StreamSchedule::grid_stride
                                                         : kernel::StreamSchedule::workgroup_a_block;
  kernel::append_stream(build, spec);
}

// Returns a kernel of `number` workgroups. Each occupies a CU for the time `stay`, from before the measured kernel's
// start until after its end. With `traffic` it copies all the time.
program::Kernel blockers(const machine::GpuSpec& gpu, std::int64_t number, bool traffic, Time stay) {
  constexpr std::int64_t threads = 512;
  PhaseShape copy;
  copy.name = "copy";
  copy.read = copy.write = 1e9;
  copy.pipelined = false;
  copy.threads = copy.active_threads = threads;
  copy.in_flight = Bytes{32 * 1024.0};
  // A blocker cannot copy this much before the measured kernel ends.
  const double copies = stay.seconds() * gpu.compute.load_store_per_cu.value / copy.read;
  return kernel(
      "blockers", gpu, 1, [=](Rank) { return number; }, {copy},
      [=](Rank, std::int64_t, std::uint32_t step, Phase& phase) {
        return step == 0 && (traffic ? work(phase, copies) : delay(phase, stay));
      },
      threads);
}

using Append = void (*)(builder::Builder&, const Parameters&);

// Returns the time between two events around the operations that `append` adds, beside `resident` blockers. The time
// includes the host's event_pair, which two events add.
Values time(const libraries::EquippedSystem& system, const Parameters& parameters, Append append, std::int64_t resident,
            bool traffic) {
  libraries::EquippedSystem gpu{one_gpu(system), system.software};
  // A GEMM that splits k has a second kernel, which adds the partial results. The queue gap delays this kernel.
  gpu.node.gpu.host.queue_gap = system.node.gpu.host.queue_gap;
  if (resident >= gpu.node.gpu.compute.total_cus()) {
    throw std::invalid_argument(fmt::format("{} workgroups that each occupy an SM leave no SM; the GPU has {}",
                                            resident, gpu.node.gpu.compute.total_cus()));
  }
  const Time placed = Time::from_us(5);
  program::Program program(1);
  if (resident > 0) {
    // The end of the measured kernel is not known here, so the blockers stay longer than it can take.
    program.queues.push_back(queue("blockers", {blockers(gpu.node.gpu, resident, traffic, Time::from_us(2e5))}));
  }
  program::Queue& measured = program.queues.emplace_back();
  measured.name = "main";
  measured.operations.emplace_back(program::Delay{"blockers first", placed});
  builder::Builder build{gpu, program, measured, "gemm"};
  append(build, parameters);
  const replay::Result result = simulate(gpu, program);
  const auto first = static_cast<std::size_t>(resident > 0 ? 2 : 1);
  const Time end = result.operations.back().end;
  return {{"time", (end - result.operations[first].first_workgroup + system.node.gpu.host.event_pair).us()}};
}

template <Append append>
Values alone(const libraries::EquippedSystem& system, const Parameters& parameters) {
  return time(system, parameters, append, 0, false);
}

template <Append append>
Values beside(const libraries::EquippedSystem& system, const Parameters& parameters) {
  return time(system, parameters, append, count(parameters, "blockers"), number(parameters, "traffic") != 0);
}

}  // namespace

std::vector<Benchmark> gemm_benchmarks() {
  const std::vector<Quantity> us{{"time", "us"}};
  return {{"gemm", "A matrix product of the GPU's library.", {{"m", "n", "k"}}, us, alone<append_gemm>},
          {"gemm_beside",
           "A matrix product beside workgroups that occupy SMs.",
           {{"m", "n", "k", "blockers", "traffic"}},
           us,
           beside<append_gemm>},
          {"stream",
           "An element-wise kernel of one or two arrays.",
           {{"inputs", "bytes", "grid_stride"}},
           us,
           alone<append_stream>},
          {"stream_beside",
           "An element-wise kernel beside workgroups that occupy SMs.",
           {{"inputs", "bytes", "grid_stride", "blockers", "traffic"}},
           us,
           beside<append_stream>}};
}

}  // namespace moire::microbench
