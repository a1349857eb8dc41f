// The hosts of the nodes as a part of the machine: the memory of each host and the slots of its GPUs, if the node
// states them, are capacities for copies into and out of this memory. The replay of queues
// (models/hardware/replay/queues.cpp) computes when a host's thread enqueues operations, with the times of HostSpec.
#pragma once

#include <optional>
#include <vector>

#include "models/hardware/host/memory_spec.hpp"
#include "models/hardware/part/services.hpp"

namespace moire::host {

const part::Declaration& declaration();

class Host final : public part::Part, public part::Shared {
 public:
  Host(part::Site& site, const std::optional<MemorySpec>& memory);

  // No values if nothing was copied into the memory of a host, or out of it.
  std::vector<double> traffic(const part::Traffic& program) const override;
  std::vector<double> occupied(Time end) const override;
  void use(const part::CopyUse& use, core::ClassSpec& spec) const override;

 private:
  struct Slot {
    core::CapacityId out, in, both;
  };
  struct Memory {
    core::CapacityId write, read, both;
  };
  part::Site& site_;
  std::optional<MemorySpec> spec_;
  // Of all ranks, and of all nodes; repeated per queue in a counterfactual run that gives every queue its own links.
  std::vector<core::CapacityId> capacities_;
  std::vector<Slot> slots_;
  std::vector<Memory> memories_;
};

}  // namespace moire::host
