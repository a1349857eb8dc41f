#include "models/hardware/power/spec.hpp"

#include <fmt/format.h>

#include "sim/config/spec.hpp"

namespace moire::power {

void PowerSpec::describe(config::Describer<PowerSpec>& d) {
  d.component("power", "The power that a GPU draws and its limit. Energies hold at the clock in the GPU's file.");
  d.field("idle", &PowerSpec::idle, "Power of the whole idle GPU").positive();
  d.field("cap", &PowerSpec::cap, "Power limit that the GPU's controller enforces within tens of milliseconds")
      .positive();
  d.field("held", &PowerSpec::held, "Share of a power limit at which the controller keeps the mean power")
      .range(0.5, 1)
      .or_default();
  d.field("busy_cu", &PowerSpec::busy_cu,
          "Power of a CU with at least one workgroup, in addition to the energy of its work");
  d.field("matrix_flop", &PowerSpec::matrix_flop,
          "Energy of an operation of matrix arithmetic on operands of random digits, including everything that feeds "
          "the matrix units")
      .positive();
  d.field(
       "matrix_quiet", &PowerSpec::matrix_quiet,
       "Share of the energy of matrix arithmetic and its loads that remains if the digits of the operands never change")
      .range(0.01, 1)
      .or_default();
  d.field("vector_flop", &PowerSpec::vector_flop, "Energy of an operation of vector arithmetic").positive();
  d.field("l2_byte", &PowerSpec::l2_byte,
          "Energy of a byte loaded from or stored to the L2, including the CU and the path to it")
      .positive();
  d.field("hbm_read_byte", &PowerSpec::hbm_read_byte,
          "Energy of a byte read from memory, in addition to its path through the L2")
      .positive();
  d.field("hbm_write_byte", &PowerSpec::hbm_write_byte,
          "Energy of a byte written to memory, in addition to its path through the L2")
      .positive();
  d.field("link_byte", &PowerSpec::link_byte, "Energy of a byte through the scale-up port, at each of its two ends")
      .positive();
  d.field("voltage_slope", &PowerSpec::voltage_slope,
          "How strongly the core's voltage depends on its clock: V / V0 = 1 - slope x (1 - f / f0)")
      .range(0, 1)
      .or_default();
  d.field("matrix_load", &PowerSpec::matrix_load,
          "Largest product that the controller allows in a sustained run, regardless of power, of the share of the "
          "matrix rate that is used on average and of the square of the clock relative to that in the file")
      .range(0.01, 1)
      .or_default();
  d.field("lowest_clock", &PowerSpec::lowest_clock, "Lowest clock that the controller chooses").positive();
  d.check("cap", [](const PowerSpec& s) -> std::optional<config::Problem> {
    if (s.idle.value < s.cap.value) return std::nullopt;
    return config::Problem{"the power limit is not above the idle power", "write a limit that leaves power for work"};
  });
}

double PowerSpec::voltage_squared(double clock) const {
  const double voltage = 1 - voltage_slope * (1 - clock);
  return voltage * voltage;
}

void OperatingPointSpec::describe(config::Describer<OperatingPointSpec>& d) {
  d.component("operating_point",
              "The clock at which a program runs: burst (its first milliseconds, in which no power limit acts yet), "
              "sustained (it is repeated for seconds, at the clock that the power limit and the matrix units allow), "
              "or one of these keys.");
  d.field("clock", &OperatingPointSpec::clock, "Clock at which the GPU is fixed").example("1.5 GHz");
  d.field("power_cap", &OperatingPointSpec::power_cap, "Power limit of a sustained run").example("500 W");
  d.check([](const OperatingPointSpec& s) -> std::optional<config::Problem> {
    const int keys = s.clock.has_value() + s.power_cap.has_value();
    if (keys == 1) return std::nullopt;
    return config::Problem{fmt::format("{} operating points are given", keys),
                           "write burst, sustained, {clock: 1.5 GHz} or {power_cap: 500 W}"};
  });
}

std::optional<OperatingPoint> read_operating_point(const config::Node& node, config::Diagnostics& diagnostics) {
  OperatingPoint point{.place = node.place};
  if (node.is_scalar() && (node.text == "burst" || node.text == "sustained")) {
    if (node.text == "sustained") point.kind = OperatingPoint::Kind::sustained;
    return point;
  }
  if (!node.is_map()) {
    if (!node.broken)
      diagnostics.error(node.place, fmt::format("the operating point is {}", found(node)),
                        "write burst, sustained, {clock: 1.5 GHz} or {power_cap: 500 W}");
    return std::nullopt;
  }
  const auto spec = config::parse<OperatingPointSpec>(node, diagnostics, nullptr, "operating_point");
  if (!spec) return std::nullopt;
  point.kind = spec->clock ? OperatingPoint::Kind::clock : OperatingPoint::Kind::power_cap;
  if (spec->clock) point.clock = *spec->clock;
  if (spec->power_cap) point.cap = *spec->power_cap;
  return point;
}

}  // namespace moire::power
