// The scale-out network of a system as a part of the machine.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "models/hardware/fabric/fabric.hpp"
#include "models/hardware/part/services.hpp"

namespace moire::fabric {

const part::Declaration& declaration();
std::vector<part::Limit> limits(const FabricSpec& spec, std::int64_t nodes, const nic::NicSpec& nic);

class Networks final : public part::Part, public part::Networks {
 public:
  // Without a topology there is no network. flow = true: SimGrid flows, with one engine, so that links stay shared in
  // every counterfactual run; flow = false: chunks queue at every port.
  Networks(part::Site& site, std::unique_ptr<core::Topology> topology, bool flow, Bytes chunk);

  std::vector<double> traffic(const part::Traffic& program) const override;
  std::vector<double> occupied(Time end) const override;
  void check_conservation() const override;
  std::size_t networks() const override { return networks_.size(); }
  core::Network& network(std::size_t number) override { return *networks_[number]; }
  const core::Topology& topology() const override { return *topology_; }
  bool run() override;

 private:
  part::Site& site_;
  std::unique_ptr<core::Topology> topology_;
  std::vector<std::unique_ptr<core::Network>> networks_;
  bool flow_;
};

}  // namespace moire::fabric
