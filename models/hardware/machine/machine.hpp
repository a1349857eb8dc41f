// A machine ready to run programs: every shared capacity of a system, one sharing domain, the NICs and the network.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/hardware/machine/spec.hpp"
#include "models/hardware/nic/nic.hpp"
#include "sim/core/network.hpp"
#include "sim/core/run_loop.hpp"
#include "sim/core/sharing.hpp"
#include "sim/program/program.hpp"

namespace moire::machine {

using program::Rank;

// Capacities of the sharing domain that belong to one rank.
struct RankCapacities {
  core::CapacityId l2 = core::no_id;
  core::CapacityId hbm = core::no_id;
  core::CapacityId egress = core::no_id;  // nvswitch, pcie: the port's two directions
  core::CapacityId ingress = core::no_id;
  std::vector<core::CapacityId> to_peer;  // full_mesh: by GPU number in the node, no_id for itself
};

// Of which shared things every queue of the program has a copy of its own: nothing in a real machine. Counterfactual
// runs show by their times what sharing costs.
struct Apart {
  std::uint32_t queues = 1;
  bool memory = false;   // caches and HBM
  bool links = false;    // scale-up links, NICs and the scale-out network
  bool engines = false;  // DMA engines
  bool cus = false;      // what a CU does at a time, and its ways to the memory system
  bool clock = false;    // power limit; only with `cus`
  bool slots = false;    // places on CUs and the dispatcher
  bool host = false;     // the thread that enqueues
};

// Which kind of thing a capacity is, for reports.
enum class CapacityKind { cache, memory, scale_up_link };
struct CapacityInfo {
  CapacityKind kind;
  Rank rank;  // whose (source of a link)
};

class Machine {
 public:
  // Why the parts do not fit together (torus size, say), and what would be right; nothing where build() succeeds.
  static std::optional<std::string> does_not_fit(const SystemSpec& spec);
  // Fails with that message.
  static std::unique_ptr<Machine> build(const SystemSpec& spec, core::RunLoop& loop, std::string& error,
                                        const Apart& apart = {});

  const SystemSpec& spec() const { return spec_; }
  const GpuSpec& gpu() const { return spec_.node.gpu; }
  Rank ranks() const { return static_cast<Rank>(spec_.ranks()); }
  Rank node_of(Rank rank) const { return rank / static_cast<Rank>(spec_.node.gpus); }
  Rank gpu_of(Rank rank) const { return rank % static_cast<Rank>(spec_.node.gpus); }
  // Can a workgroup of `a` store straight into the memory of `b`?
  bool stores_reach(Rank a, Rank b) const;
  // The NIC of a rank: GPU g of a node uses NIC g x nics / gpus.
  core::EndpointId endpoint_of(Rank rank) const;

  // The part of the HBM's unloaded latency from which a loaded memory counts what the requests of a workgroup wait.
  // Where a batch waits for its slowest load (hbm.latency_spread), the rest of its time is no waiting of all its bytes.
  double queued_part() const { return gpu().hbm.latency_spread.ps > 0 ? 0.25 : 1; }

  core::RunLoop& loop() { return loop_; }
  core::Sharing& sharing() { return sharing_; }
  const Apart& apart() const { return apart_; }
  // `queue` of the program is asked for where it has capacities of its own.
  const RankCapacities& capacities(Rank rank, std::uint32_t queue = 0) const {
    return capacities_[copy_of(queue) * ranks() + rank];
  }
  const std::vector<CapacityInfo>& capacity_info() const { return info_; }

  // Appends what a stream of `per_work` bytes from `source` to the memory of `peer` takes of links and memory. Link
  // capacities are raw; what a byte of payload takes of them depends on who sends it.
  enum class Mover { cu, dma };
  struct StoreCost {
    Mover mover = Mover::cu;
    double link = 1;    // what a byte takes of the links over what contiguous stores take
    double memory = 1;  // what it takes of a memory that also reads, over what it takes alone
  };
  void add_store_path(Rank source, Rank peer, double per_work, std::vector<core::Demand>& demands, StoreCost cost,
                      std::uint32_t queue = 0) const;

  // The same for a stream of `per_work` bytes that `reader` loads from the memory of `peer`.
  void add_load_path(Rank reader, Rank peer, double per_work, std::vector<core::Demand>& demands,
                     std::uint32_t queue = 0) const;

  // Posts to the NIC of `source`; the put's sink fires when its data, and then its flag, can be seen at `destination`.
  // Returns when the issuing thread is free again.
  Time put(nic::Put put, Rank source, Rank destination, std::uint32_t queue = 0);
  core::Network* network() { return networks_.empty() ? nullptr : networks_.front().get(); }
  // One, or one for each queue.
  const std::vector<std::unique_ptr<core::Network>>& networks() const { return networks_; }
  const core::Topology* topology() const { return topology_.get(); }
  const std::vector<std::unique_ptr<nic::Nic>>& nics() const { return nics_; }

  // Runs until nothing is left to happen, inside SimGrid's engine where the network model is `flow`.
  void run();

 private:
  Machine(const SystemSpec& spec, core::RunLoop& loop, const Apart& apart);
  std::uint32_t copies() const { return apart_.memory || apart_.links ? apart_.queues : 1; }
  std::uint32_t copy_of(std::uint32_t queue) const { return apart_.memory || apart_.links ? queue : 0; }
  void add_gpu(Rank rank);
  void wire_nodes();
  bool add_network(std::string& error);
  void add_wires(Rank source, Rank destination, double bytes, std::vector<core::Demand>& demands,
                 std::uint32_t queue) const;
  core::CapacityId add_capacity(CapacityInfo info, core::CapacitySpec spec);

  SystemSpec spec_;
  Apart apart_;
  core::RunLoop& loop_;
  core::Sharing sharing_;
  std::vector<RankCapacities> capacities_;  // of all ranks for each copy
  std::vector<CapacityInfo> info_;
  std::unique_ptr<core::Topology> topology_;
  std::vector<std::unique_ptr<core::Network>> networks_;
  std::vector<std::unique_ptr<nic::Nic>> nics_;  // of all endpoints for each network
};

}  // namespace moire::machine
