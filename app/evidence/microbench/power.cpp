// Benchmarks of power. Most of them return the energy of one iteration of a loop of validation/power, at the measured
// clock. This energy is the power of the idle GPU and of its busy CUs, multiplied by the measured time, plus the energy
// of all operations. Therefore errors in simulated times do not become errors in energy.
#include <algorithm>
#include <stdexcept>

#include "app/evidence/microbench/bench.hpp"
#include "models/workload/collective/collective.hpp"
#include "models/workload/kernel/gemm.hpp"
#include "models/workload/kernel/stream.hpp"

namespace moire::microbench {

namespace {

constexpr double wgs_per_cu = 8;  // workgroups on each CU in kernels that units() makes

struct Loop {
  libraries::EquippedSystem system;
  program::Program program;
};

Loop loop_on(const libraries::EquippedSystem& system, const Parameters& parameters, std::int64_t gpus) {
  need_gpus(system, gpus);
  Loop loop{system, program::Program(static_cast<Rank>(gpus))};
  loop.system.nodes = 1;
  loop.system.node.gpus = gpus;
  loop.system.operate_at(amount(parameters, "clock_mhz") * 1e6 / system.node.gpu.compute.clock.value);
  loop.system.repeated = true;
  loop.program.queues.push_back(queue("main", {}));
  return loop;
}

Values measured(const Loop& loop, const Parameters& parameters) {
  if (!loop.system.node.gpu.power) return {};
  config::Problem error;
  const auto machine = machine::Machine::build(loop.system, error);
  if (!machine) throw std::invalid_argument(error.str());
  const replay::Result result = replay::Replay(*machine, loop.program).run();
  const part::Meters::Drawn drawn = machine->service<part::Meters>().drawn(0, result.end);
  const power::PowerSpec& power = *loop.system.node.gpu.power;
  const double seconds = amount(parameters, "us") * 1e-6;
  const double more = seconds - result.end.seconds();
  const double share = *loop.system.operated_at;
  const double busy =
      drawn.occupied / result.end.seconds() * power.busy_cu.value * share * power.voltage_squared(share);
  const double pause = parameters.contains("pause_us") ? amount(parameters, "pause_us") * 1e-6 : 0;
  const double period = seconds + pause;
  const double used = drawn.matrix_flop / period / loop.system.node.gpu.compute.matrix_16bit.value;
  const double top = loop.system.node.gpu.compute.clock.value / share;
  return {{"energy", (drawn.joules + more * (power.idle.value + busy)) * 1e3},
          {"clock_left", top * std::min(1.0, power.matrix_load / (used * share)) * 1e-6}};
}

// Returns energy and clock of a kernel whose workgroups together do `amount` units of a shape.
Values units(const libraries::EquippedSystem& system, const Parameters& parameters, PhaseShape shape, double amount,
             std::int64_t gpus) {
  Loop loop = loop_on(system, parameters, gpus);
  const std::int64_t cus = system.node.gpu.compute.total_cus();
  const auto wgs = static_cast<std::int64_t>(wgs_per_cu) * cus;
  const double own = amount / static_cast<double>(wgs);
  loop.program.queues[0].operations.emplace_back(kernel(
      "loop", loop.system.node.gpu, static_cast<std::int64_t>(wgs_per_cu), [=](Rank) { return wgs; },
      {std::move(shape)},
      [=](Rank rank, std::int64_t, std::uint32_t step, Phase& phase) {
        return step == 0 && work(phase, own, gpus > 1 ? static_cast<Rank>((rank + 1) % gpus) : 0);
      }));
  return measured(loop, parameters);
}

PhaseShape loads(double missed) {
  PhaseShape shape;
  shape.name = "loads";
  shape.read = 1;
  shape.read_miss = missed;
  shape.in_flight = Bytes{16 * 1024.0};
  return shape;
}

Values idle(const libraries::EquippedSystem& system, const Parameters&) {
  if (!system.node.gpu.power) return {};
  return {{"power", system.node.gpu.power->idle.value}};
}

Values hold(const libraries::EquippedSystem& system, const Parameters& parameters) {
  Loop loop = loop_on(system, parameters, 1);
  const std::int64_t cus = system.node.gpu.compute.total_cus();
  const Time stay = Time::from_us(amount(parameters, "us"));
  loop.program.queues[0].operations.emplace_back(kernel(
      "hold", loop.system.node.gpu, 1, [=](Rank) { return cus; }, {},
      [=](Rank, std::int64_t, std::uint32_t step, Phase& phase) { return step == 0 && delay(phase, stay); }));
  return measured(loop, parameters);
}

Values read(const libraries::EquippedSystem& system, const Parameters& parameters) {
  const double bytes = amount(parameters, "bytes");
  const double missed = bytes > system.node.gpu.l2.capacity.value ? 1 : 0;
  return units(system, parameters, loads(missed), bytes * amount(parameters, "times"), 1);
}

Values fma(const libraries::EquippedSystem& system, const Parameters& parameters) {
  PhaseShape shape;
  shape.name = "arithmetic";
  shape.flop = 1;
  // In a round, each thread computes one FMA in each of eight chains. An FMA counts as two operations.
  const double flop = wgs_per_cu * static_cast<double>(system.node.gpu.compute.total_cus() * default_threads) * 8 * 2;
  return units(system, parameters, shape, flop * amount(parameters, "rounds"), 1);
}

Values peer_store(const libraries::EquippedSystem& system, const Parameters& parameters) {
  PhaseShape shape = loads(1);
  shape.peer_write = 1;
  const std::int64_t gpus = positive_count(parameters, "gpus");
  if (gpus < 2) throw std::invalid_argument("gpus is 1; stores to a peer need 2 or more GPUs");
  return units(system, parameters, shape, amount(parameters, "bytes"), gpus);
}

Values copies(const libraries::EquippedSystem& system, const Parameters& parameters) {
  Loop loop = loop_on(system, parameters, positive_count(parameters, "gpus"));
  builder::Builder build{loop.system, loop.program, loop.program.queues[0]};
  const collective::Collective made{.kind = collective::Kind::all_gather,
                                    .bytes = Bytes{amount(parameters, "bytes")},
                                    .method = {.engine = collective::Engine::dma}};
  append(build, made, "copies");
  return measured(loop, parameters);
}

Values stream(const libraries::EquippedSystem& system, const Parameters& parameters) {
  Loop loop = loop_on(system, parameters, 1);
  builder::Builder build{loop.system, loop.program, loop.program.queues[0], "stream"};
  kernel::StreamSpec spec;
  spec.bytes = Bytes{amount(parameters, "bytes")};
  spec.schedule = kernel::StreamSchedule::grid_stride;
  kernel::append_stream(build, spec);
  return measured(loop, parameters);
}

Values gemm(const libraries::EquippedSystem& system, const Parameters& parameters) {
  Loop loop = loop_on(system, parameters, 1);
  builder::Builder build{loop.system, loop.program, loop.program.queues[0], "gemm"};
  kernel::GemmSpec spec;
  spec.m = positive_count(parameters, "m");
  spec.n = positive_count(parameters, "n");
  spec.k = positive_count(parameters, "k");
  spec.digits = number(parameters, "digits");
  if (const auto problem = kernel::check_gemm(spec, build.system)) throw std::invalid_argument(problem->str());
  kernel::append_gemm(build, spec);
  return measured(loop, parameters);
}

}  // namespace

std::vector<Benchmark> power_benchmarks() {
  const std::vector<Quantity> energy{{"energy", "mJ"}};
  return {
      {"power_idle", "A GPU that does nothing.", {{}}, {{"power", "W"}}, idle},
      {"power_hold",
       "A workgroup on every SM that does nothing but look at the clock.",
       {{"clock_mhz", "us"}},
       energy,
       hold},
      {"power_fma", "fp32 FMA on every SM.", {{"clock_mhz", "us", "rounds"}}, energy, fma},
      {"power_read",
       "Loads by all SMs of a buffer that fits into the cache or not.",
       {{"clock_mhz", "us", "bytes", "times"}},
       energy,
       read},
      {"power_stream", "An element-wise kernel of one array.", {{"clock_mhz", "us", "bytes"}}, energy, stream},
      {"power_peer_store", "Loads, and stores to a peer.", {{"clock_mhz", "us", "bytes", "gpus"}}, energy, peer_store},
      {"power_peer_copy", "Copies to a peer by an engine.", {{"clock_mhz", "us", "bytes", "gpus"}}, energy, copies},
      {"power_gemm",
       "A matrix product, again and again, with a pause in between or none. digits: 1 random numbers, 0 all the same.",
       {{"clock_mhz", "us", "m", "n", "k", "digits"}, {"clock_mhz", "us", "m", "n", "k", "digits", "pause_us"}},
       {{"energy", "mJ"}, {"clock_left", "MHz"}},
       gemm},
      {"power_held",
       "Mean power of loops that meet a power limit.",
       {{"limit_w"}},
       {{"power", "W"}},
       [](const libraries::EquippedSystem& system, const Parameters& parameters) -> Values {
         if (!system.node.gpu.power) return {};
         return {{"power", system.node.gpu.power->held * amount(parameters, "limit_w")}};
       }},
  };
}

}  // namespace moire::microbench
