#include "models/hardware/cu/cus.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/hardware/cu/dispatcher.hpp"
#include "sim/config/units.hpp"

namespace moire::cu {

namespace {

// Returns the largest number of CUs of one group that a queue may use. `cus`: the CUs that the queue may use; empty:
// all.
std::int64_t most_in_a_group(const CuArraySpec& spec, const std::vector<std::uint32_t>& cus) {
  std::int64_t most = 0;
  std::uint32_t begin = 0;
  for (const CuGroupSpec& group : spec.groups) {
    for (std::int64_t copy = 0; copy < group.count; ++copy) {
      const std::uint32_t end = begin + static_cast<std::uint32_t>(group.cus);
      const std::int64_t used = cus.empty() ? group.cus : std::count_if(cus.begin(), cus.end(), [&](std::uint32_t cu) {
        return begin <= cu && cu < end;
      });
      most = std::max(most, used);
      begin = end;
    }
  }
  return most;
}

}  // namespace

std::optional<config::Problem> does_not_fit(const program::Program& program, const CuArraySpec& compute,
                                            const std::string& gpu) {
  for (const program::Queue& queue : program.queues) {
    const std::int64_t largest_group = most_in_a_group(compute, queue.cus);
    for (const program::Operation& operation : queue.operations) {
      const auto* kernel = std::get_if<program::Kernel>(&operation);
      if (kernel == nullptr) continue;
      const std::int64_t fits = occupancy(compute, kernel->resources);
      if (fits == 0) {
        return config::Problem{fmt::format("a workgroup of kernel '{}' does not fit on a CU of {} because of its {}",
                                           kernel->name, gpu, limiting_resource(compute, kernel->resources)),
                               "use smaller workgroups"};
      }
      const std::int64_t cluster = kernel->resources.cluster;
      if (cluster > compute.cluster_max || cluster > fits * largest_group) {
        return config::Problem{
            fmt::format("kernel '{}' asks for clusters of {} workgroups", kernel->name, cluster),
            fmt::format("{} places at most {}{}", gpu, std::min(compute.cluster_max, fits * largest_group),
                        queue.cus.empty() ? "" : " on the CUs of queue '" + queue.name + "'")};
      }
    }
  }
  return std::nullopt;
}

const part::Declaration& declaration() {
  static const part::Declaration declared{
      .name = "cu",
      .blame = {{.key = "cus",
                 .lost = "cu_share",
                 .meaning = "Time lost to workgroups of other queues on the same CUs (arithmetic, loads and stores) "
                            "and on the CUs' paths to memory"},
                {.key = "clock",
                 .lost = "clock",
                 .meaning = "Time lost to a lower clock, because the arithmetic of other queues draws power, and at a "
                            "sustained operating point because of the power limit"},
                {.key = "slots",
                 .lost = "extra_waves",
                 .meaning = "Time lost because other queues hold places on the CUs, without the wait in lost_cu_wait",
                 .waited = "cu_wait",
                 .waited_meaning =
                     "Time lost waiting for places on CUs, until the first workgroup of each kernel has one"}},
      .follows = {{"gpu.compute.vector_fp32", "gpu.compute.clock", 1, "the operations per CU and clock stay the same"},
                  {"gpu.compute.vector_fp32", "gpu.compute.cus", 1, "the operations per CU and clock stay the same"},
                  {"gpu.compute.matrix_16bit", "gpu.compute.clock", 1, "the operations per CU and clock stay the same"},
                  {"gpu.compute.matrix_16bit", "gpu.compute.cus", 1, "the operations per CU and clock stay the same"},
                  {"gpu.compute.matrix_clock", "gpu.compute.clock", 1,
                   "the power limit leaves the same share of the clock, as if a faster GPU were allowed more power. "
                   "Set the key to change this"},
                  {"gpu.compute.load_store_per_cu", "gpu.compute.clock", 1, "the bytes per clock stay the same"},
                  {"gpu.compute.load_per_wavefront", "gpu.compute.clock", 1, "the bytes per clock stay the same"},
                  {"gpu.compute.load_per_group", "gpu.compute.clock", 1, "the bytes per clock stay the same"},
                  {"gpu.compute.launch_interval", "gpu.compute.clock", -1,
                   "the clock cycles between two launches stay the same"},
                  {"gpu.compute.load_path", "gpu.compute.clock", -1,
                   "the clock cycles of a load in a CU stay the same"},
                  {"gpu.compute.ports", "gpu.compute.cus", 1,
                   "the pattern is repeated or cut to match the number of CUs"}},
      .timeline = {{program::SpanKind::workgroup, "CUs", "CU"}}};
  return declared;
}

std::vector<part::Limit> limits(const CuArraySpec& compute, BytesPerSecond memory, Time latency) {
  std::vector<part::Limit> all;
  const auto cus = static_cast<double>(compute.total_cus());
  const BytesPerSecond loads = compute.load_store_per_cu * cus;
  const BytesPerSecond in_flight{compute.bytes_in_flight_per_cu.value / latency.seconds() * cus};
  for (const char* key : {"node.gpu.hbm.bandwidth", "node.gpu.hbm.peak"}) {
    if (loads < memory)
      all.push_back({key, "node.gpu.compute.load_store_per_cu", config::format_quantity(loads) + " over all CUs"});
    if (in_flight < memory)
      all.push_back({key, "node.gpu.compute.bytes_in_flight_per_cu",
                     config::format_quantity(in_flight) + " over all CUs at the latency of idle memory"});
  }
  return all;
}

bool shares(const part::BlameKind& kind, const CuArraySpec& compute, const program::Program& program) {
  return (kind.key != "clock" || compute.matrix_clock) &&
         program.several_queues_have(
             [](const program::Operation& operation) { return std::holds_alternative<program::Kernel>(operation); });
}

std::unique_ptr<part::Dispatcher> Cus::make_dispatcher() const { return std::make_unique<Dispatcher>(compute_); }

Footprint Cus::footprint(const program::WorkgroupResources& resources) const {
  return cu::footprint(compute_, resources);
}

void Cus::use(const part::CopyUse& use, core::ClassSpec& spec) const {
  if (!use.by_cus) return;
  const CuArraySpec& compute = compute_of(use.rank);
  const auto cus = static_cast<double>(compute.total_cus());
  spec.bound = cus * compute.load_store_per_cu.value / (1 + compute.store_cost);
  spec.weight = cus * compute.bytes_in_flight_per_cu.value;
}

}  // namespace moire::cu
