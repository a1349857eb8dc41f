// The power of every GPU as a part of the machine: meters that count the energy of what activities do. It limits
// nothing within a run; what clock the power allows is found between runs (app/study/operating.hpp).
#pragma once

#include <optional>
#include <vector>

#include "models/hardware/part/services.hpp"
#include "models/hardware/power/spec.hpp"

namespace moire::power {

const part::Declaration& declaration();

// Meters of all GPUs. `clock` is the clock of the hardware file; the GPUs run at `share` of it.
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
    double hertz = 0;  // where nothing lowers it
    double left = 1;
    double voltage = 1;  // squared
    double busy_cu = 0;  // watts
    core::MeterId occupied = core::no_id;
  };
  void add(part::Rank rank, double joules, core::ClassSpec& spec) const;

  part::Site& site_;
  PowerSpec spec_;
  std::vector<Gpu> gpus_;
};

// Of a machine whose power nobody counts.
class Unmetered final : public part::Part {};

}  // namespace moire::power
