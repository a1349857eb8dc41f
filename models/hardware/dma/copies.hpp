// The DMA engines of all GPUs as a part of the machine.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <tuple>
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
  // The two other engines of each GPU, of which one copies into the host's memory and one out of it.
  struct HostEngines {
    DmaSpec times;
    Time busy_command;  // by how much a command behind a copy takes longer while the other of the two moves bytes
  };
  // `host`: present if the nodes have a host memory.
  Copies(part::Site& site, const DmaSpec& spec, const std::optional<HostEngines>& host);

  void submit(const part::CopyRequest& request) override;
  std::ptrdiff_t begins_with(part::Rank rank, std::size_t copies) const override;
  Finished finished(const part::CopyUse& copy) const override;
  bool local_by_kernel() const override { return spec_.local_command.has_value(); }
  void use(const part::CopyUse& use, core::ClassSpec& spec) const override;

 private:
  Engines& engines_of(const part::CopyUse& use) const;
  core::ClassId class_of(const part::CopyUse& use);

  part::Site& site_;
  DmaSpec spec_;
  bool apart_;
  // Engines of all ranks, repeated per queue in a counterfactual run. With a host memory, the engines that copy into it
  // and those that copy out of it follow in the same way.
  std::vector<std::unique_ptr<Engines>> engines_;
  std::vector<std::vector<core::ClassId>> classes_;  // by rank and queue
  // Of copies into and out of the host's memory, by an element of classes_, and the way and footprint of the copies.
  std::map<std::tuple<const std::vector<core::ClassId>*, program::Transfer::Way, double>, core::ClassId> host_classes_;
};

}  // namespace moire::dma
