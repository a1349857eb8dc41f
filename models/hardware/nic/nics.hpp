// The NICs of a system as a part of the machine. Puts of a rank go to the NIC that serves its GPU.
#pragma once

#include <memory>
#include <vector>

#include "models/hardware/nic/nic.hpp"
#include "models/hardware/part/services.hpp"

namespace moire::nic {

const part::Declaration& declaration();
std::vector<part::Limit> limits(const NicSpec& spec);

class Nics final : public part::Part, public part::Puts {
 public:
  // GPU g of a node uses NIC g x nics / gpus. Without `spec` there are no NICs.
  Nics(part::Site& site, std::int64_t nics_per_node, const std::optional<NicSpec>& spec);

  void connect() override;
  std::vector<double> traffic(const part::Traffic& program) const override;
  Time put(const part::Put& put) override;
  core::EndpointId endpoint_of(part::Rank rank) const override;

 private:
  std::uint32_t queue_pair_of(const part::Put& put) const;

  part::Site& site_;
  const part::Networks* networks_ = nullptr;
  core::EndpointId per_node_;
  std::optional<NicSpec> spec_;
  std::size_t endpoints_ = 0;
  // One NIC per endpoint. If a counterfactual run gives every queue its own links, each queue has its own set of NICs,
  // one set after the other.
  std::vector<std::unique_ptr<Nic>> nics_;
};

}  // namespace moire::nic
