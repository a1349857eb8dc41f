#include "app/evidence/measurements/curves.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <tuple>

namespace moire::measurements {

double CurvePoint::error() const {
  const double difference = simulated - measured->value;
  const double beyond = std::max(0.0, std::abs(difference) - resolution);
  return std::copysign(beyond, difference) / measured->value;
}

double Curve::mean_error() const {
  double sum = 0;
  for (const CurvePoint& point : points) sum += std::abs(point.error());
  return sum / static_cast<double>(points.size());
}

const CurvePoint& Curve::worst() const {
  return *std::max_element(points.begin(), points.end(), [](const CurvePoint& a, const CurvePoint& b) {
    return std::abs(a.error()) < std::abs(b.error());
  });
}

bool within_limits(const Curve& curve) {
  return curve.mean_error() <= curve_mean_limit && std::abs(curve.worst().error()) <= curve_worst_limit;
}

libraries::EquippedSystem measured_system(const Measurements& measurements, const libraries::EquippedGpu& gpu,
                                          link::Wiring wiring) {
  libraries::EquippedSystem system;
  system.node.gpus = measurements.gpus;
  system.node.gpu = gpu;
  system.software.gemm = gpu.gemm;
  system.node.wiring = measurements.gpus > 1 ? wiring : link::Wiring::none;
  // Assumes that the measured machine uses all of its links.
  if (system.node.wiring == link::Wiring::full_mesh)
    system.node.links_per_pair = gpu.port.links / (measurements.gpus - 1);
  return system;
}

namespace {

// Simulates `values` (see simulate() in the header). Calls `refused(value, error)` if the system cannot run the
// parameters of a value, once for each set of parameters.
template <class Refused>
std::vector<double> simulate_each(const std::vector<const MeasuredValue*>& values,
                                  const libraries::EquippedSystem& system, const std::vector<Benchmark>& known,
                                  const Refused& refused) {
  std::vector<double> out(values.size(), std::numeric_limits<double>::quiet_NaN());
  std::map<std::tuple<std::string, Parameters>, microbench::Values> ran;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const MeasuredValue& value = *values[i];
    const auto benchmark =
        std::find_if(known.begin(), known.end(), [&](const Benchmark& b) { return b.name == value.benchmark; });
    if (benchmark == known.end() || !benchmark->run) continue;
    const auto [it, fresh] = ran.try_emplace({value.benchmark, value.parameters});
    try {
      if (fresh) {
        microbench::check_sizes(value.parameters, system.node.gpu);
        it->second = benchmark->run(system, value.parameters);
      }
    } catch (const std::invalid_argument& error) {
      refused(value, error);
    }
    if (const auto metric = it->second.find(value.metric); metric != it->second.end()) out[i] = metric->second;
  }
  return out;
}

}  // namespace

std::vector<double> simulate(const std::vector<const MeasuredValue*>& values, const libraries::EquippedSystem& system,
                             const std::vector<Benchmark>& known) {
  return simulate_each(values, system, known, [](const MeasuredValue&, const std::invalid_argument&) { throw; });
}

std::vector<double> simulate_all(const Measurements& measurements, const libraries::EquippedSystem& system,
                                 const std::vector<Benchmark>& known, config::Diagnostics& diagnostics) {
  std::vector<const MeasuredValue*> values;
  for (const MeasuredValue& value : measurements.values) values.push_back(&value);
  return simulate_each(values, system, known, [&](const MeasuredValue& value, const std::invalid_argument& error) {
    diagnostics.error(
        measurements.place(value),
        fmt::format("{} {} cannot be simulated: {}", value.benchmark, to_string(value.parameters), error.what()),
        "the parameters must be possible on the hardware file's GPU");
  });
}

namespace {

// Returns the uncertainty of a value due to the timer's steps, in the value's unit. The first-wave span is the
// difference of two time stamps and only a few steps long. As a median of repetitions, it is uncertain by half a step.
// For all other values the function returns 0, because they are means over many time stamps or much longer than a step.
double resolution_of(const MeasuredValue& value, const Measurements& measurements) {
  if (value.benchmark != "dispatch" || value.metric != "first_wave_span") return 0;
  const MeasuredValue* step = measurements.find("timer", "resolution", {});
  return step ? step->value / 2 : 0;
}

}  // namespace

std::vector<Curve> curves(const Measurements& measurements, const libraries::EquippedSystem& system,
                          const std::vector<Benchmark>& known) {
  std::vector<const MeasuredValue*> values;
  for (const MeasuredValue& value : measurements.values) {
    if (value.value > 0) values.push_back(&value);
  }
  const std::vector<double> simulated = simulate(values, system, known);
  std::vector<Curve> out;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isnan(simulated[i])) continue;
    const MeasuredValue& value = *values[i];
    auto curve = std::find_if(out.begin(), out.end(), [&](const Curve& c) {
      return c.benchmark == value.benchmark && c.metric == value.metric;
    });
    if (curve == out.end()) {
      out.push_back({value.benchmark, value.metric, value.unit, {}});
      curve = out.end() - 1;
    }
    curve->points.push_back({&value, simulated[i], resolution_of(value, measurements)});
  }
  return out;
}

}  // namespace moire::measurements
