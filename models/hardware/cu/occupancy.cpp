#include "models/hardware/cu/occupancy.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace moire::cu {

namespace {

std::int64_t round_up(std::int64_t n, std::int64_t step) { return (n + step - 1) / step * step; }

struct Limit {
  std::int64_t workgroups;
  const char* resource;
};

Limit limit(const CuArraySpec& spec, const program::WorkgroupResources& resources) {
  const Footprint one = footprint(spec, resources);
  const auto by = [](double has, double needs) {
    return needs > 0 ? static_cast<std::int64_t>(std::floor(has / needs)) : std::int64_t{1} << 40;
  };
  const std::array<Limit, 4> limits{{
      {spec.workgroups_per_cu, "workgroup slots"},
      {by(static_cast<double>(spec.threads_per_cu), static_cast<double>(one.threads)), "threads"},
      {by(static_cast<double>(spec.registers_per_cu), static_cast<double>(one.registers)), "registers"},
      {by(spec.lds_per_cu.value, one.lds), "lds"},
  }};
  return *std::min_element(limits.begin(), limits.end(),
                           [](const Limit& a, const Limit& b) { return a.workgroups < b.workgroups; });
}

}  // namespace

Footprint footprint(const CuArraySpec& spec, const program::WorkgroupResources& resources) {
  const std::int64_t threads = round_up(resources.threads, spec.wavefront);
  return {threads, threads * round_up(resources.registers_per_thread, spec.register_granularity), resources.lds.value};
}

std::int64_t occupancy(const CuArraySpec& spec, const program::WorkgroupResources& resources) {
  return limit(spec, resources).workgroups;
}

const char* limiting_resource(const CuArraySpec& spec, const program::WorkgroupResources& resources) {
  return limit(spec, resources).resource;
}

}  // namespace moire::cu
