// A machine ready to run programs: the parts of a system on one clock and in one sharing domain.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/hardware/machine/spec.hpp"
#include "models/hardware/part/services.hpp"
#include "sim/core/invariant.hpp"

namespace moire::machine {

using part::Apart;
using program::Rank;

class Machine {
 public:
  // Fails with a message that says what would be right where parts do not fit together (torus size, say). Without a
  // `loop` the machine has its own. `images`: blocks of whole nodes that do the same; it has the first one's GPUs.
  static std::unique_ptr<Machine> build(const SystemSpec& spec, config::Problem& error, const Apart& apart = {},
                                        Rank images = 1);
  static std::unique_ptr<Machine> build(const SystemSpec& spec, core::RunLoop& loop, config::Problem& error,
                                        const Apart& apart = {}, Rank images = 1);

  const SystemSpec& spec() const { return spec_; }
  const GpuSpec& gpu() const { return spec_.node.gpu; }
  // As it is, where clocks differ.
  const GpuSpec& gpu(Rank rank) const { return slow_.empty() ? gpu() : slow_[rank]; }
  Rank ranks() const { return site_.ranks(); }  // that are simulated
  Rank images() const { return site_.images(); }
  const part::Reach& reach() const { return site_.reach(); }

  core::RunLoop& loop() { return site_.loop(); }
  core::Sharing& sharing() { return site_.sharing(); }
  const part::Site& site() const { return site_; }
  // What a part offers (models/hardware/part/services.hpp).
  template <class Service>
  Service& service() const {
    Service* found = site_.find<Service>();
    MOIRE_INVARIANT(found != nullptr, "no part offers a service that the program needs");
    return *found;
  }

  // Runs until nothing is left to happen.
  void run();

 private:
  Machine(const SystemSpec& spec, core::RunLoop& loop, const Apart& apart, Rank images);

  SystemSpec spec_;
  std::unique_ptr<core::RunLoop> own_loop_;
  part::Site site_;
  std::vector<GpuSpec> slow_;  // by rank, where their clocks differ
};

}  // namespace moire::machine
