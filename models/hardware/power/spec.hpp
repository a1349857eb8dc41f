// What a GPU draws, how much it may, and what its clock does about it.
#pragma once

#include <optional>

#include "sim/config/config.hpp"
#include "sim/core/quantity.hpp"

namespace moire::config {
template <class Spec>
class Describer;
}

namespace moire::power {

// Energies hold at the clock of the GPU's file. What is in the core's voltage domain (arithmetic, L2, CUs with
// workgroups) goes with the square of the voltage; memory and links have voltages of their own.
struct PowerSpec {
  Watts idle;
  Watts cap;
  double held = 1;          // share of the cap that the controller keeps the mean at
  Watts busy_cu;            // a CU with at least one workgroup, beside what its work takes
  Joules matrix_flop;       // of operands with random digits
  double matrix_quiet = 1;  // share of it that operands take whose digits never change
  Joules vector_flop;
  Joules l2_byte;
  Joules hbm_read_byte;
  Joules hbm_write_byte;
  Joules link_byte;          // at each end
  double voltage_slope = 0;  // of V / V0 over f / f0
  double matrix_dip = 0;     // what the sustained clock loses while matrix units work all the time
  PerSecond lowest_clock{};
  static void describe(config::Describer<PowerSpec>& d);

  // Of the core at `clock`, a share of the file's: square of the voltage over that at the file's clock.
  double voltage_squared(double clock) const;
};

// At what clock a program runs.
struct OperatingPoint {
  enum class Kind { burst, sustained, clock, power_cap };
  Kind kind = Kind::burst;
  PerSecond clock{};  // Kind::clock
  Watts cap{};        // Kind::power_cap
  config::Place place{};

  bool sought() const { return kind == Kind::sustained || kind == Kind::power_cap; }
};

// The keys of one that is a map.
struct OperatingPointSpec {
  std::optional<PerSecond> clock;
  std::optional<Watts> power_cap;
  static void describe(config::Describer<OperatingPointSpec>& d);
};

// A word or a map; nothing, with the reason at its place, where it is neither.
std::optional<OperatingPoint> read_operating_point(const config::Node& node, config::Diagnostics& diagnostics);

}  // namespace moire::power
