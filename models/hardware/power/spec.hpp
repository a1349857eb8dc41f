// The power model of a GPU: the power that it draws, its power limit, and how its clock depends on both.
#pragma once

#include <optional>

#include "sim/config/config.hpp"
#include "sim/core/quantity.hpp"

namespace moire::config {
template <class Spec>
class Describer;
}

namespace moire::power {

// Energies hold at the clock in the GPU's file. The energy of the core (arithmetic, L2, CUs with workgroups) scales
// with the square of the core's voltage. Memory and links have voltages of their own.
struct PowerSpec {
  Watts idle;
  Watts cap;
  double held = 1;          // the GPU's controller keeps the mean power at this fraction of the cap
  Watts busy_cu;            // power of a CU with at least one workgroup, without the energy of its work
  Joules matrix_flop;       // per FLOP on operands with random digits
  double matrix_quiet = 1;  // energy of matrix work whose operands' digits never change, relative to random digits
  Joules vector_flop;
  Joules l2_byte;
  Joules hbm_read_byte;
  Joules hbm_write_byte;
  Joules link_byte;          // at each end of the link
  double voltage_slope = 0;  // slope of voltage over clock, both relative to their values at the clock in the file
  double matrix_load = 1;    // largest share of the matrix rate x (clock / f0)^2 of a sustained run
  PerSecond lowest_clock{};
  static void describe(config::Describer<PowerSpec>& d);

  // Returns (V / V0)^2, where V is the core's voltage at the fraction `clock` of the clock in the file, and V0 is the
  // voltage at the clock in the file.
  double voltage_squared(double clock) const;
};

// The clock at which a program runs.
struct OperatingPoint {
  enum class Kind { burst, sustained, clock, power_cap };
  Kind kind = Kind::burst;
  PerSecond clock{};  // only for Kind::clock
  Watts cap{};        // only for Kind::power_cap
  bool held = false;  // a clock that was found for a program that is repeated
  config::Place place{};

  bool sought() const { return kind == Kind::sustained || kind == Kind::power_cap; }
  // True if the run is one of many in a row.
  bool repeats() const { return sought() || held; }
};

// Keys of an operating point that is written as a map.
struct OperatingPointSpec {
  std::optional<PerSecond> clock;
  std::optional<Watts> power_cap;
  static void describe(config::Describer<OperatingPointSpec>& d);
};

// Reads an operating point: a word (burst or sustained) or a map with one key. If the node is neither, reports an error
// at the position of the node and returns nothing.
std::optional<OperatingPoint> read_operating_point(const config::Node& node, config::Diagnostics& diagnostics);

}  // namespace moire::power
