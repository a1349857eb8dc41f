#include "models/hardware/power/spec.hpp"

#include <fmt/format.h>

#include "sim/config/spec.hpp"

namespace moire::power {

void PowerSpec::describe(config::Describer<PowerSpec>& d) {
  d.component("power", "What a GPU draws and how much it may. Energies are those at the clock of the GPU's file.");
  d.field("idle", &PowerSpec::idle, "Power of the whole GPU with nothing to do").positive();
  d.field("cap", &PowerSpec::cap, "Power limit that its controller enforces within tens of milliseconds").positive();
  d.field("held", &PowerSpec::held, "Share of a limit at which the controller keeps the mean power")
      .range(0.5, 1)
      .or_default();
  d.field("busy_cu", &PowerSpec::busy_cu, "A CU with at least one workgroup, beside what its work takes");
  d.field("matrix_flop", &PowerSpec::matrix_flop,
          "Matrix arithmetic on operands of random digits, with all that feeds it")
      .positive();
  d.field("matrix_quiet", &PowerSpec::matrix_quiet,
          "Share of the energy of matrix arithmetic and its loads that operands whose digits never change take")
      .range(0.01, 1)
      .or_default();
  d.field("vector_flop", &PowerSpec::vector_flop, "Vector arithmetic").positive();
  d.field("l2_byte", &PowerSpec::l2_byte, "A byte loaded from or stored to the L2, CU and way there included")
      .positive();
  d.field("hbm_read_byte", &PowerSpec::hbm_read_byte, "A byte read from memory, beside its way through the L2")
      .positive();
  d.field("hbm_write_byte", &PowerSpec::hbm_write_byte, "The same of a byte written").positive();
  d.field("link_byte", &PowerSpec::link_byte, "A byte through the scale-up port, at each of its two ends").positive();
  d.field("voltage_slope", &PowerSpec::voltage_slope,
          "How much of the core's voltage goes with its clock: V / V0 = 1 - slope x (1 - f / f0)")
      .range(0, 1)
      .or_default();
  d.field("matrix_dip", &PowerSpec::matrix_dip,
          "Share of the clock that a sustained run loses while matrix units work all the time, whatever the power; in "
          "proportion where they work for a part of it")
      .range(0, 0.9)
      .or_default();
  d.field("lowest_clock", &PowerSpec::lowest_clock, "Clock below which the controller does not go").positive();
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
  d.component(
      "operating_point",
      "At what clock a program runs: burst (its first milliseconds: no power limit acts yet), sustained (repeated "
      "for seconds: the clock that the power limit and the matrix units leave), or one of these keys.");
  d.field("clock", &OperatingPointSpec::clock, "The GPU's clock is held at this").example("1.5 GHz");
  d.field("power_cap", &OperatingPointSpec::power_cap, "As sustained, with this power limit").example("500 W");
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
      diagnostics.error(node.place, fmt::format("an operating point is {}", found(node)),
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
