// The scale-up links of all nodes as a part of the machine. The capacities are the two directions of each port or, in a
// full mesh, the links between each pair of GPUs. The part computes the demands of stores, loads and copies on these
// capacities. A capacity's rate is the raw rate of its links. The number of link bytes that a payload byte takes
// depends on whether a CU or a DMA engine moves it.
#pragma once

#include <vector>

#include "models/hardware/link/spec.hpp"
#include "models/hardware/part/services.hpp"

namespace moire::link {

const part::Declaration& declaration();
// Returns how many links of a port are connected to other GPUs in a node of `gpus` GPUs. `per_pair`: number of links
// between each pair of GPUs of a full mesh.
std::int64_t links_in_use(Wiring wiring, std::int64_t per_pair, std::int64_t gpus, const PortSpec& port);
// Returns the parameters of the port that the wiring, the memory or the window of stores limits. `in_use`: result of
// links_in_use(). `memory`: bandwidth of the GPU's memory. `cus`: number of CUs that store to peers.
std::vector<part::Limit> limits(const PortSpec& port, std::int64_t in_use, BytesPerSecond memory, std::int64_t cus);
// True if queues could lose time by sharing links or NICs. `nics`: the system has NICs, which the workgroups of any
// queue may use.
bool shares(const program::Program& program, bool nics);

class Links final : public part::Part, public part::Shared, public part::ScaleUp {
 public:
  // `per_pair`: links between each pair of GPUs of a full mesh.
  Links(part::Site& site, Wiring wiring, std::int64_t per_pair, const PortSpec& port);

  std::vector<double> traffic(const part::Traffic& program) const override;
  std::vector<double> occupied(Time end) const override;
  double carried(part::Rank rank) const override;
  std::vector<core::CapacityId> wires(part::Rank rank) const override;
  void latency(const part::PhaseUse& use, part::Latency& latency) const override;
  void use(const part::PhaseUse& use, core::ClassSpec& spec) const override;
  void use(const part::CopyUse& use, core::ClassSpec& spec) const override;

 private:
  struct Capacities {
    core::CapacityId egress = core::no_id;  // nvswitch, pcie: the two directions of the port
    core::CapacityId ingress = core::no_id;
    std::vector<core::CapacityId> to_peer;  // full_mesh: by index of the peer in the node; no_id for the GPU itself
  };
  const Capacities& of(part::Rank rank, std::uint32_t queue) const {
    return capacities_[(apart_ ? queue * site_.ranks() : 0) + rank];
  }
  core::CapacityId add(part::Rank source, std::string name, double rate);
  void wire(part::Rank rank, Capacities& own);
  void use_switch(const part::PhaseUse& use, core::ClassSpec& spec) const;
  void add_wires(part::Rank source, part::Rank destination, std::uint32_t queue, double bytes,
                 core::ClassSpec& spec) const;

  part::Site& site_;
  Wiring wiring_;
  std::int64_t per_pair_;
  PortSpec port_;
  bool apart_;
  std::vector<Capacities> capacities_;   // of all ranks; repeated per queue in a counterfactual run
  std::vector<core::CapacityId> links_;  // all links
};

}  // namespace moire::link
