#include "app/evidence/calibrate/groups.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "app/evidence/measurements/curves.hpp"

namespace moire::calibrate {

namespace {

// Returns the group of each SM, in the order in which blockers were placed on the SMs. Returns an empty list if the
// file lacks this order.
std::vector<std::size_t> filling_order(const measurements::Measurements& measurements) {
  std::vector<std::pair<double, std::size_t>> order;
  for (const measurements::MeasuredValue* row : measurements.all("sm", "blocker_order")) {
    const measurements::MeasuredValue* gpc = measurements.find("sm", "gpc", row->parameters);
    if (!gpc) return {};
    order.emplace_back(row->value, static_cast<std::size_t>(gpc->value));
  }
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::size_t> groups;
  for (const auto& [position, group] : order) groups.push_back(group);
  return groups;
}

std::vector<const measurements::MeasuredValue*> placements(const measurements::Measurements& measurements) {
  std::vector<const measurements::MeasuredValue*> rows = measurements.all("dispatch_cluster", "first_wave_wgs");
  for (const measurements::MeasuredValue* row : measurements.all("cluster_limit", "clusters")) rows.push_back(row);
  return rows;
}

std::size_t exact(const std::vector<const measurements::MeasuredValue*>& rows, const std::vector<double>& simulated) {
  std::size_t same = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (std::abs(simulated[i] - rows[i]->value) < 0.5) ++same;  // values are counts; the condition is false for NaN
  }
  return same;
}

}  // namespace

std::optional<Groups> find_groups(const measurements::Measurements& measurements, const HardwareFile& hardware,
                                  link::Wiring wiring, const std::vector<microbench::Benchmark>& known) {
  Groups out;
  out.rows = measurements.all("gpc", "sms");
  if (out.rows.empty()) return std::nullopt;
  std::vector<std::pair<double, int>> sizes;
  for (const measurements::MeasuredValue* row : out.rows) {
    sizes.emplace_back(row->parameters.at("gpc"), static_cast<int>(std::lround(row->value)));
  }
  std::sort(sizes.begin(), sizes.end());
  for (const auto& [gpc, sms] : sizes) out.groups.emplace_back(sms, 0);

  config::Diagnostics ignored;
  auto gpu = hardware.spec(ignored);
  if (!gpu) return out;
  const auto tried = placements(measurements);
  const auto simulated = [&](const std::vector<std::pair<int, int>>& groups) {
    gpu->compute.groups.clear();
    gpu->compute.ports.clear();  // ports refer to the former groups
    gpu->compute.port_queue.reset();
    for (const auto& [cus, first] : groups) {
      auto& group = gpu->compute.groups.emplace_back();
      group.cus = cus;
      group.filled_first = first;
    }
    return simulate(tried, measurements::measured_system(measurements, *gpu, wiring), known);
  };
  out.placements = tried.size();
  out.exact = exact(tried, simulated(out.groups));
  auto groups = out.groups;
  for (const std::size_t group : filling_order(measurements)) {
    // Once every group has a blocker, the GPU places workgroups on all groups in turn, so no further CU fills first.
    const bool all = std::all_of(groups.begin(), groups.end(), [](const auto& g) { return g.second > 0; });
    if (all || group >= groups.size()) break;
    const bool known_to_fill = out.groups[group].second > 0;
    ++groups[group].second;
    const std::size_t same = exact(tried, simulated(groups));
    if (same > out.exact || (same == out.exact && known_to_fill)) {
      out.exact = same;
      out.groups = groups;
    }
  }
  std::vector<std::int64_t> sms;
  for (const auto& [cus, first] : out.groups) sms.push_back(cus);
  out.ports = find_ports(measurements, sms);
  if (!out.ports) return out;
  std::vector<std::pair<int, int>> ordered;
  for (const std::size_t group : out.ports->group_order) ordered.push_back(out.groups[group]);
  if (exact(tried, simulated(ordered)) == out.exact) {
    out.groups = ordered;
  } else {
    out.ports.reset();
  }
  return out;
}

}  // namespace moire::calibrate
