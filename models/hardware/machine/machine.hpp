// A machine that can run a program: the parts of a system with one clock and one instance of the sharing law.
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
  // Builds a machine from the specification of a system. Returns null and sets `error` if parts do not fit together,
  // such as the size of a torus and the number of nodes. Without `loop`, the machine has a loop of its own. `images`:
  // number of identical blocks of whole nodes. Only the GPUs of the first block are built.
  static std::unique_ptr<Machine> build(const SystemSpec& spec, config::Problem& error, const Apart& apart = {},
                                        Rank images = 1);
  static std::unique_ptr<Machine> build(const SystemSpec& spec, core::RunLoop& loop, config::Problem& error,
                                        const Apart& apart = {}, Rank images = 1);

  const SystemSpec& spec() const { return spec_; }
  const GpuSpec& gpu() const { return spec_.node.gpu; }
  // Returns the specification of a rank's GPU, which differs from gpu() if the clocks of ranks differ.
  const GpuSpec& gpu(Rank rank) const { return slow_.empty() ? gpu() : slow_[rank]; }
  Rank ranks() const { return site_.ranks(); }  // simulated ranks
  Rank images() const { return site_.images(); }
  const part::Reach& reach() const { return site_.reach(); }
  // Along which circle the blocks of a folded run follow each other, and positions are counted (replay/fold.hpp). By
  // default, one circle of all ranks.
  void set_circle(core::Circle of_ranks);
  const core::Circle& circle() const { return circle_; }

  core::RunLoop& loop() { return site_.loop(); }
  core::Sharing& sharing() { return site_.sharing(); }
  const part::Site& site() const { return site_; }
  // Returns the part that offers a service (an interface of models/hardware/part/services.hpp).
  template <class Service>
  Service& service() const {
    Service* found = site_.find<Service>();
    MOIRE_INVARIANT(found != nullptr, "no part offers a service that the program needs");
    return *found;
  }

  // Runs until no events are left.
  void run();

 private:
  Machine(const SystemSpec& spec, core::RunLoop& loop, const Apart& apart, Rank images);

  SystemSpec spec_;
  std::unique_ptr<core::RunLoop> own_loop_;
  part::Site site_;
  core::Circle circle_;
  std::vector<GpuSpec> slow_;  // by rank, if clocks differ
};

}  // namespace moire::machine
