// The power of all GPUs as a part of the machine. Meters count the energy of activities, and the part limits no rates
// during a run. app/study/operating.hpp repeats runs to find the clock that the power limit allows.
#pragma once

#include <optional>
#include <vector>

#include "models/hardware/part/services.hpp"
#include "models/hardware/power/spec.hpp"

namespace moire::power {

const part::Declaration& declaration();

// `clock`: the clock of the hardware file. The GPUs run at the fraction `share` of it.
class Power final : public part::Part, public part::Shared, public part::Meters {
 public:
  Power(part::Site& site, const PowerSpec& spec, PerSecond clock, double share);

  void meter(const part::PhaseUse& use, core::ClassSpec& spec) const override;
  void use(const part::CopyUse& use, core::ClassSpec& spec) const override;
  void occupied(part::Rank rank, bool is) override;
  void clock_left(part::Rank rank, double share) override;
  Drawn drawn(part::Rank rank, Time end) const override;

 private:
  struct Gpu {
    core::MeterId power = core::no_id;
    core::MeterId matrix = core::no_id;
    core::MeterId clock = core::no_id;
    double hertz = 0;     // clock in Hz while matrix arithmetic does not lower it
    double operated = 1;  // `hertz` over the file's clock
    double left = 1;      // share of `hertz` at which the GPU runs now
    double voltage = 1;   // square of the voltage, relative to that at the file's clock
    double busy_cu = 0;   // power of a CU with at least one workgroup, without the energy of its work, in watts
    int busy = 0;         // CUs with at least one workgroup
    core::MeterId occupied = core::no_id;
  };
  void add(part::Rank rank, double joules, core::ClassSpec& spec) const;
  void set_voltage(Gpu& gpu) const;

  part::Site& site_;
  PowerSpec spec_;
  std::vector<Gpu> gpus_;
};

// Takes the place of Power in a machine that counts no energy.
class Unmetered final : public part::Part {};

}  // namespace moire::power
