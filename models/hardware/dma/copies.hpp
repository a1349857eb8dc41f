// The DMA engines of all GPUs as a part of the machine.
#pragma once

#include <memory>
#include <vector>

#include "models/hardware/dma/engines.hpp"
#include "models/hardware/part/services.hpp"

namespace moire::dma {

const part::Declaration& declaration();
// Returns the parameters of ports that DMA engines limit, and the bandwidth of engines if the links limit it. `port`:
// bandwidth that a GPU's port gives to all its copies together. `path`: bandwidth that one copy to a peer can get from
// the links.
std::vector<part::Limit> limits(const DmaSpec& dma, BytesPerSecond port, BytesPerSecond path,
                                const program::Program& program);
bool shares(const program::Program& program);

class Copies final : public part::Part, public part::Copies, public part::Shared {
 public:
  Copies(part::Site& site, const DmaSpec& spec);

  void submit(const part::CopyRequest& request) override;
  Finished finished(part::Rank rank, std::uint32_t queue) const override { return engines(rank, queue).finished(); }
  bool local_by_kernel() const override { return spec_.local_command.has_value(); }
  void use(const part::CopyUse& use, core::ClassSpec& spec) const override;

 private:
  Engines& engines(part::Rank rank, std::uint32_t queue) const {
    return *engines_[(apart_ ? queue * site_.ranks() : 0) + rank];
  }
  core::ClassId class_of(const part::CopyUse& use);

  part::Site& site_;
  DmaSpec spec_;
  bool apart_;
  std::vector<std::unique_ptr<Engines>> engines_;    // of all ranks; repeated per queue in a counterfactual run
  std::vector<std::vector<core::ClassId>> classes_;  // by rank and queue
};

}  // namespace moire::dma
