// The scale-out network of a system as a part of the machine.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "models/hardware/fabric/fabric.hpp"
#include "models/hardware/fabric/sums.hpp"
#include "models/hardware/part/services.hpp"
#include "sim/core/queue_network.hpp"

namespace moire::fabric {

const part::Declaration& declaration();
std::vector<part::Limit> limits(const FabricSpec& spec, std::int64_t nodes, const nic::NicSpec& nic);

class Networks final : public part::Part, public part::Networks {
 public:
  // Without a topology there is no network. flow = false: messages are cut into chunks that queue at every port
  // (QueueNetwork). flow = true: SimGrid computes the rates of messages (FlowNetwork). SimGrid has one engine per
  // process, so queues of the program share the links in every counterfactual run.
  Networks(part::Site& site, std::unique_ptr<Fabric> topology, bool flow, core::QueueNetworkSpec queues = {});

  void connect() override;

  std::vector<double> traffic(const part::Traffic& program) const override;
  std::vector<double> occupied(Time end) const override;
  void check_conservation() const override;
  std::size_t networks() const override { return networks_.size(); }
  core::Network& network(std::size_t number) override { return *networks_[number]; }
  const core::Topology& topology() const override { return *topology_; }
  core::EndpointId sum_of(part::Rank gpu) const override { return Sums::first_group + gpu; }
  void set_circle(const core::Circle& of_ranks) override;
  bool run() override;

 private:
  part::Site& site_;
  std::unique_ptr<Fabric> topology_;
  std::vector<std::unique_ptr<core::Network>> networks_;
  std::vector<core::QueueNetwork*> queues_;  // those of networks_, or inside them
  std::vector<Sums*> sums_;                  // those of networks_ whose switches sum
  bool flow_;
};

}  // namespace moire::fabric
