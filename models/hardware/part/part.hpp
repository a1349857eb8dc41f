// A part of a machine (memory, links, CUs, ...) with its capacities. A part also implements the interfaces of
// services.hpp that it offers, and others find it by the interface (Site::find). models/hardware/machine/parts.cpp
// registers all parts.
#pragma once

#include <memory>
#include <vector>

#include "models/hardware/part/declaration.hpp"
#include "models/hardware/part/reach.hpp"
#include "models/hardware/part/uneven.hpp"
#include "sim/core/run_loop.hpp"
#include "sim/core/sharing.hpp"
#include "sim/program/program.hpp"

namespace moire::part {

class Shared;  // services.hpp

class Part {
 public:
  virtual ~Part() = default;
  // Called once, after all parts have been added.
  virtual void connect() {}
  // traffic() and occupied() return the values of the declared metrics for a run that ended at `end`, in the order of
  // the declaration, or no values if the run does not report them.
  virtual std::vector<double> traffic(const Traffic& /*program*/) const { return {}; }
  virtual std::vector<double> occupied(Time /*end*/) const { return {}; }
  // Throws InvariantError if bytes or messages that entered the part did not leave it.
  virtual void check_conservation() const {}
};

// What a part sees of its machine. The site outlives its parts.
class Site {
 public:
  Site(core::RunLoop& loop, Rank ranks, Rank images, Reach reach, Apart apart,
       std::shared_ptr<const Uneven> uneven = nullptr)
      : loop_(loop),
        sharing_(loop),
        ranks_(ranks),
        images_(images),
        reach_(reach),
        apart_(std::move(apart)),
        uneven_(uneven ? std::move(uneven) : std::make_shared<const Uneven>()) {}
  Site(const Site&) = delete;
  Site& operator=(const Site&) = delete;

  core::RunLoop& loop() const { return loop_; }
  core::Sharing& sharing() { return sharing_; }
  const core::Sharing& sharing() const { return sharing_; }
  Rank ranks() const { return ranks_; }  // simulated ranks
  // Returns the number of identical blocks of ranks, of which only the first block is simulated (folding). Returns 1 if
  // all ranks are simulated.
  Rank images() const { return images_; }
  const Reach& reach() const { return reach_; }
  const Apart& apart() const { return apart_; }
  const Uneven& uneven() const { return *uneven_; }
  // Returns the number of copies of a resource of this kind (BlameKind::key): the number of queues if a counterfactual
  // run gives every queue its own copy, else 1.
  std::uint32_t copies(std::string_view kind) const { return apart_.has(kind) ? apart_.queues : 1; }

  // Adds a capacity, whose load observers see. `owner`: the rank to which the capacity belongs; for a link, the rank at
  // its source.
  core::CapacityId add_capacity(Rank owner, core::CapacitySpec spec) {
    owners_.push_back(owner);
    return sharing_.add_capacity(std::move(spec));
  }
  Rank owner(core::CapacityId id) const { return owners_[id]; }
  core::MeterId add_meter(Rank owner, core::Sharing::MeterSpec spec) {
    meter_owners_.push_back(owner);
    return sharing_.add_meter(std::move(spec));
  }
  Rank owner_of_meter(core::MeterId id) const { return meter_owners_[id]; }

  // All parts, in the order of machine/parts.cpp.
  const std::vector<std::unique_ptr<Part>>& parts() const { return parts_; }
  void add(std::unique_ptr<Part> part);
  // The parts that implement Shared.
  const std::vector<const Shared*>& shared() const { return shared_; }
  // Returns the part that implements the interface `Service` of services.hpp, or null.
  template <class Service>
  Service* find() const {
    for (const auto& part : parts_) {
      if (auto* found = dynamic_cast<Service*>(part.get())) return found;
    }
    return nullptr;
  }

 private:
  core::RunLoop& loop_;
  core::Sharing sharing_;
  Rank ranks_;
  Rank images_;
  Reach reach_;
  Apart apart_;
  std::shared_ptr<const Uneven> uneven_;
  std::vector<Rank> owners_;        // by capacity
  std::vector<Rank> meter_owners_;  // by meter
  std::vector<std::unique_ptr<Part>> parts_;
  std::vector<const Shared*> shared_;
};

}  // namespace moire::part
