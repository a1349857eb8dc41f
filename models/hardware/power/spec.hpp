// Power model of a GPU: what it draws, its power cap, and how the clock depends on both.
#pragma once

#include <optional>

#include "sim/config/config.hpp"
#include "sim/core/quantity.hpp"

namespace moire::config {
template <class Spec>
class Describer;
}

namespace moire::power {

// Energies hold at the clock of the GPU's file. Energy in the core's voltage domain (arithmetic, L2, CUs with
// workgroups) scales with the square of the voltage; memory and links have voltages of their own.
struct PowerSpec {
  Watts idle;
  Watts cap;
  double held = 1;          // the controller keeps the mean power at this fraction of the cap
  Watts busy_cu;            // a CU with at least one workgroup, without the energy of its work
  Joules matrix_flop;       // per FLOP on operands with random digits
  double matrix_quiet = 1;  // fraction of it for operands whose digits never change
  Joules vector_flop;
  Joules l2_byte;
  Joules hbm_read_byte;
  Joules hbm_write_byte;
  Joules link_byte;          // at each end of the link
  double voltage_slope = 0;  // slope of V / V0 over f / f0, with V0 and f0 at the clock of the GPU's file
  double matrix_dip = 0;     // share of the sustained clock that is lost while matrix units work all the time
  PerSecond lowest_clock{};
  static void describe(config::Describer<PowerSpec>& d);

  // Square of the core's voltage at `clock`, relative to that at the file's clock; `clock` is a fraction of the file's
  // clock.
  double voltage_squared(double clock) const;
};

// The clock at which a program runs.
struct OperatingPoint {
  enum class Kind { burst, sustained, clock, power_cap };
  Kind kind = Kind::burst;
  PerSecond clock{};  // Kind::clock
  Watts cap{};        // Kind::power_cap
  config::Place place{};

  bool sought() const { return kind == Kind::sustained || kind == Kind::power_cap; }
};

// Keys of an operating point that is written as a map.
struct OperatingPointSpec {
  std::optional<PerSecond> clock;
  std::optional<Watts> power_cap;
  static void describe(config::Describer<OperatingPointSpec>& d);
};

// Accepts a word or a map; returns nothing and reports why at the node's place if it is neither.
std::optional<OperatingPoint> read_operating_point(const config::Node& node, config::Diagnostics& diagnostics);

}  // namespace moire::power
