#include "app/evidence/microbench/bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "sim/core/invariant.hpp"

namespace moire::microbench {

double number(const Parameters& parameters, const std::string& name) {
  const auto found = parameters.find(name);
  if (found == parameters.end()) throw std::invalid_argument(fmt::format("parameter '{}' is missing", name));
  return found->second;
}

double amount(const Parameters& parameters, const std::string& name) {
  const double value = number(parameters, name);
  if (value <= 0) throw std::invalid_argument(fmt::format("parameter '{}' is {}; it must be above 0", name, value));
  return value;
}

namespace {

std::int64_t integer(const Parameters& parameters, const std::string& name, std::int64_t least) {
  const double value = number(parameters, name);
  const auto whole = static_cast<std::int64_t>(value);
  if (whole < least || static_cast<double>(whole) != value) {
    throw std::invalid_argument(
        fmt::format("parameter '{}' is {}; it must be an integer, {} or more", name, value, least));
  }
  return whole;
}

}  // namespace

std::int64_t count(const Parameters& parameters, const std::string& name) { return integer(parameters, name, 0); }

std::int64_t positive_count(const Parameters& parameters, const std::string& name) {
  return integer(parameters, name, 1);
}

void check_sizes(const Parameters& parameters, const machine::GpuSpec& gpu) {
  constexpr double most = 1e6;  // the collectors' largest count is 32,768; a larger count would simulate for hours
  for (const auto& [name, value] : parameters) {
    const bool bytes = name.find("bytes") != std::string::npos;
    if (bytes && value > gpu.hbm.capacity.value) {
      throw std::invalid_argument(fmt::format("parameter '{}' is {}; the memory of {} holds {} bytes", name, value,
                                              gpu.name, gpu.hbm.capacity.value));
    }
    const bool side = name == "m" || name == "n" || name == "k";  // kernel::check_gemm limits the sides of a GEMM
    if (!bytes && !side && value > most)
      throw std::invalid_argument(fmt::format("parameter '{}' is {}; it must be at most {}", name, value, most));
  }
}

SystemSpec one_node(const SystemSpec& system) {
  SystemSpec node = system;
  node.nodes = 1;
  node.node.nics = 0;
  node.node.nic.reset();
  node.fabric.reset();
  node.node.gpu.host = {};
  return node;
}

SystemSpec one_gpu(const SystemSpec& system) {
  SystemSpec gpu = one_node(system);
  gpu.node.gpus = 1;
  gpu.node.wiring = link::Wiring::none;
  return gpu;
}

void need_gpus(const SystemSpec& system, std::int64_t gpus) {
  if (gpus > system.node.gpus) {
    throw std::invalid_argument(fmt::format("the benchmark needs {} GPUs; the node has {}", gpus, system.node.gpus));
  }
  if (gpus > 1 && system.node.wiring == link::Wiring::none) {
    throw std::invalid_argument("the benchmark needs links between the GPUs of a node; the node has none");
  }
}

program::Kernel kernel(const std::string& name, const machine::GpuSpec& gpu, std::int64_t per_cu, Body::Count count,
                       std::vector<PhaseShape> shapes, Body::Answer answer, std::int64_t threads) {
  const std::int64_t most = std::min(gpu.compute.workgroups_per_cu, gpu.compute.threads_per_cu / threads);
  if (per_cu < 1 || per_cu > most) {
    throw std::invalid_argument(fmt::format("there are {} workgroups of {} threads on a CU; {} holds 1 to {}", per_cu,
                                            threads, gpu.name, most));
  }
  program::Kernel made;
  made.name = name;
  const auto lds = static_cast<std::int64_t>(gpu.compute.lds_per_cu.value) / per_cu;
  made.resources = {threads, gpu.compute.register_granularity, Bytes{static_cast<double>(lds)}, 1};
  made.shapes = std::move(shapes);
  made.body = std::make_shared<Body>(std::move(count), std::move(answer));
  return made;
}

program::Queue queue(const std::string& name, std::vector<program::Operation> operations) {
  return {name, 0, std::move(operations)};
}

std::int64_t spread(const machine::GpuSpec& gpu, std::int64_t wgs) {
  const std::int64_t cus = gpu.compute.total_cus();
  return (wgs + cus - 1) / cus;
}

std::uint32_t group_number(const machine::GpuSpec& gpu, std::int64_t gpc) {
  std::int64_t number = gpc;
  for (const bool filled_first : {false, true}) {
    std::int64_t group = 0;
    for (const cu::CuGroupSpec& kind : gpu.compute.groups) {
      if ((kind.filled_first == kind.cus) == filled_first) {
        if (number < kind.count) return static_cast<std::uint32_t>(group + number);
        number -= kind.count;
      }
      group += kind.count;
    }
  }
  throw std::invalid_argument(fmt::format("there is no group {}", gpc));
}

void Stamps::workgroup(const program::WorkgroupSpan& span) {
  if (!only_.empty() && span.phase != only_) return;
  std::vector<Stamp>& all = stamps_[{std::string(span.kernel), span.rank}];
  const auto at = static_cast<std::size_t>(span.workgroup);
  if (at >= all.size()) all.resize(at + 1);
  all[at].begin = std::min(all[at].begin, span.begin);
  all[at].end = std::max(all[at].end, span.end);
  all[at].cu = span.cu;
}

const std::vector<Stamps::Stamp>& Stamps::of(const std::string& kernel, Rank rank) const {
  return stamps_.at({kernel, rank});
}

std::vector<Stamps::Stamp> Stamps::worked(const std::string& kernel, Rank rank) const {
  std::vector<Stamp> worked;
  for (const Stamp& stamp : of(kernel, rank)) {
    if (stamp.end > stamp.begin) worked.push_back(stamp);
  }
  return worked;
}

Time first_begin(const std::vector<Stamps::Stamp>& stamps) {
  Time first = Time::max();
  for (const Stamps::Stamp& stamp : stamps) first = std::min(first, stamp.begin);
  return first;
}

Time last_end(const std::vector<Stamps::Stamp>& stamps) {
  Time last;
  for (const Stamps::Stamp& stamp : stamps) last = std::max(last, stamp.end);
  return last;
}

Rate rate(const std::vector<Stamps::Stamp>& stamps, double bytes_per_wg) {
  const auto wgs = static_cast<double>(stamps.size());
  double sum = 0;
  for (const Stamps::Stamp& stamp : stamps) sum += (stamp.end - stamp.begin).seconds();
  const double span = (last_end(stamps) - first_begin(stamps)).seconds();
  return {bytes_per_wg * wgs / span / 1e9, bytes_per_wg * wgs / sum / 1e9};
}

std::vector<cu::CuId> places(const machine::GpuSpec& gpu, std::int64_t per_cu, std::int64_t threads) {
  const program::Kernel probe = kernel("probe", gpu, per_cu, {}, {}, {}, threads);
  cu::Dispatcher dispatcher(gpu.compute);
  const std::int64_t wgs = per_cu * gpu.compute.total_cus();
  dispatcher.add({0, wgs, cu::footprint(gpu.compute, probe.resources), 1, 0});
  std::vector<cu::Placement> placed;
  while (dispatcher.pending()) {
    const std::size_t before = placed.size();
    dispatcher.place(placed);
    MOIRE_INVARIANT(placed.size() > before, "an idle GPU does not hold the grid that fills it");
  }
  std::vector<cu::CuId> places(placed.size());
  for (const cu::Placement& placement : placed) places[static_cast<std::size_t>(placement.workgroup)] = placement.cu;
  return places;
}

std::vector<Stamps::Stamp> run_on(const SystemSpec& gpu, const std::vector<cu::CuId>& cus, std::int64_t per_cu,
                                  const PhaseShape& shape, double amount) {
  const std::vector<cu::CuId> at = places(gpu.node.gpu, per_cu);
  std::vector<bool> works(at.size());
  for (std::size_t wg = 0; wg < at.size(); ++wg) {
    works[wg] = std::find(cus.begin(), cus.end(), at[wg]) != cus.end();
  }
  const Time placed = gpu.node.gpu.compute.launch_interval * static_cast<std::int64_t>(at.size()) + Time::from_us(1);
  program::Program program(1);
  program.queues = {queue("main", {kernel(
                                      "some", gpu.node.gpu, per_cu, [&](Rank) { return std::ssize(at); }, {shape},
                                      [&](Rank, std::int64_t wg, std::uint32_t step, Phase& phase) {
                                        if (step == 0) return delay(phase, placed);
                                        return step == 1 && works[static_cast<std::size_t>(wg)] && work(phase, amount);
                                      })})};
  Stamps stamps(shape.name);
  simulate(gpu, program, &stamps);
  return stamps.worked("some");
}

replay::Result simulate(const SystemSpec& system, const program::Program& program, program::Observer* observer) {
  config::Problem error;
  const auto machine = machine::Machine::build(system, error);
  MOIRE_INVARIANT(machine != nullptr, error.str());
  replay::Result result = replay::Replay(*machine, program, observer).run();
  MOIRE_INVARIANT(result.deadlock.empty(), result.deadlock);
  return result;
}

}  // namespace moire::microbench
