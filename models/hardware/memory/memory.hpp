// Models the L2 and the HBM of every GPU as rates that workgroups and copies share (core::Sharing calls such rates
// capacities). Computes how much of the rate of the L2 and of the HBM each phase and each copy needs.
#pragma once

#include <vector>

#include "models/hardware/memory/spec.hpp"
#include "models/hardware/part/services.hpp"

namespace moire::memory {

const part::Declaration& declaration();
std::vector<part::Limit> limits(const CacheSpec& l2, const HbmSpec& hbm);

class Memory final : public part::Part, public part::Shared {
 public:
  Memory(part::Site& site, const CacheSpec& l2, const HbmSpec& hbm);

  std::vector<double> occupied(Time end) const override;
  void latency(const part::PhaseUse& use, part::Latency& latency) const override;
  void use(const part::PhaseUse& use, core::ClassSpec& spec) const override;
  void use(const part::CopyUse& use, core::ClassSpec& spec) const override;
  bool stays_in_cache(const part::CopyUse& use) const override;
  std::vector<core::CapacityId> memories(part::Rank rank) const override;

 private:
  struct Capacities {
    core::CapacityId l2 = core::no_id;
    core::CapacityId hbm = core::no_id;
    core::CapacityId rows = core::no_id;  // no_id: no limit
    double hit = 0;  // L2 latency, in seconds
  };
  const Capacities& of(part::Rank rank, std::uint32_t queue) const {
    return capacities_[(apart_ ? queue * site_.ranks() : 0) + rank];
  }

  part::Site& site_;
  CacheSpec l2_;
  HbmSpec hbm_;
  bool apart_;
  std::vector<Capacities> capacities_;  // of all ranks; repeated per queue in a counterfactual run
};

}  // namespace moire::memory
