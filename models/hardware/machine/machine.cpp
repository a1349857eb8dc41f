#include "models/hardware/machine/machine.hpp"

#include <fmt/format.h>

#include "sim/core/invariant.hpp"
#include "sim/core/queue_network.hpp"
#include "sim/core/simgrid/flow_network.hpp"

namespace moire::machine {

std::optional<std::string> Machine::does_not_fit(const SystemSpec& spec) {
  if (!spec.fabric || spec.node.nics == 0) return std::nullopt;
  std::string error;
  if (fabric::make_topology(*spec.fabric, spec.nodes, spec.node.nics, *spec.node.nic, error)) return std::nullopt;
  return error;
}

std::unique_ptr<Machine> Machine::build(const SystemSpec& spec, core::RunLoop& loop, std::string& error,
                                        const Apart& apart) {
  std::unique_ptr<Machine> machine(new Machine(spec, loop, apart));
  if (!machine->add_network(error)) return nullptr;
  return machine;
}

Machine::Machine(const SystemSpec& spec, core::RunLoop& loop, const Apart& apart)
    : spec_(spec), apart_(apart), loop_(loop), sharing_(loop) {
  for (std::uint32_t copy = 0; copy < copies(); ++copy) {
    // What is shared keeps the capacities of the first copy.
    const std::size_t first = capacities_.size();
    capacities_.resize(first + ranks());
    for (Rank rank = 0; copy > 0 && rank < ranks(); ++rank) capacities_[first + rank] = capacities_[rank];
    if (copy == 0 || apart_.memory) {
      for (Rank rank = 0; rank < ranks(); ++rank) add_gpu(rank);
    }
    if (copy == 0 || apart_.links) wire_nodes();
  }
}

core::CapacityId Machine::add_capacity(CapacityInfo info, core::CapacitySpec spec) {
  info_.push_back(info);
  return sharing_.add_capacity(std::move(spec));
}

void Machine::add_gpu(Rank rank) {
  RankCapacities& own = capacities_[capacities_.size() - ranks() + rank];
  own.l2 = add_capacity({CapacityKind::cache, rank}, {fmt::format("rank {} L2", rank), gpu().l2.bandwidth.value});
  own.hbm = add_capacity({CapacityKind::memory, rank},
                         {fmt::format("rank {} HBM", rank), gpu().hbm.bandwidth.value,
                          gpu().hbm.latency_growth / queued_part(), gpu().hbm.latency_exponent});
}

void Machine::wire_nodes() {
  const auto gpus = static_cast<Rank>(spec_.node.gpus);
  if (gpus < 2) return;
  const link::PortSpec& port = gpu().port;
  const double link = port.link_bandwidth.value;
  for (Rank rank = 0; rank < ranks(); ++rank) {
    RankCapacities& own = capacities_[capacities_.size() - ranks() + rank];
    switch (spec_.node.wiring) {
      case link::Wiring::none:
        break;
      case link::Wiring::nvswitch:
      case link::Wiring::pcie: {
        const double whole = link * static_cast<double>(port.links);
        own.egress = add_capacity({CapacityKind::scale_up_link, rank}, {fmt::format("rank {} port out", rank), whole});
        own.ingress = add_capacity({CapacityKind::scale_up_link, rank}, {fmt::format("rank {} port in", rank), whole});
        break;
      }
      case link::Wiring::full_mesh: {
        // Links that do not divide over the peers stay unused.
        const std::int64_t links_to_one = port.links / (spec_.node.gpus - 1);
        const double to_one = link * static_cast<double>(links_to_one);
        own.to_peer.assign(gpus, core::no_id);
        for (Rank peer = 0; peer < gpus; ++peer) {
          if (peer == gpu_of(rank)) continue;
          own.to_peer[peer] = add_capacity({CapacityKind::scale_up_link, rank},
                                           {fmt::format("link {} to {}", rank, node_of(rank) * gpus + peer), to_one});
        }
        break;
      }
    }
  }
}

core::EndpointId Machine::endpoint_of(Rank rank) const {
  const auto nics = static_cast<core::EndpointId>(spec_.node.nics);
  return node_of(rank) * nics + gpu_of(rank) * nics / static_cast<core::EndpointId>(spec_.node.gpus);
}

bool Machine::add_network(std::string& error) {
  if (!spec_.fabric || spec_.node.nics == 0) return true;
  topology_ = fabric::make_topology(*spec_.fabric, spec_.nodes, spec_.node.nics, *spec_.node.nic, error);
  if (!topology_) return false;
  // SimGrid has one engine, so its flows stay shared.
  const bool flow = spec_.network.model == NetworkModel::flow;
  const std::uint32_t networks = apart_.links && !flow ? apart_.queues : 1;
  for (std::uint32_t i = 0; i < networks; ++i) {
    if (flow) {
      networks_.push_back(std::make_unique<core::flow::FlowNetwork>(loop_, *topology_));
    } else {
      networks_.push_back(std::make_unique<core::QueueNetwork>(loop_.calendar(), *topology_,
                                                               core::QueueNetworkSpec{.chunk = spec_.network.chunk}));
    }
    for (core::EndpointId endpoint = 0; endpoint < topology_->endpoints(); ++endpoint) {
      nics_.push_back(std::make_unique<nic::Nic>(loop_.calendar(), *networks_.back(), endpoint, *spec_.node.nic));
    }
  }
  return true;
}

bool Machine::stores_reach(Rank a, Rank b) const {
  return a == b || (spec_.node.wiring != link::Wiring::none && node_of(a) == node_of(b));
}

void Machine::add_wires(Rank source, Rank destination, double bytes, std::vector<core::Demand>& demands,
                        std::uint32_t queue) const {
  MOIRE_INVARIANT(source != destination && stores_reach(source, destination), "a path leaves its node or its port");
  const RankCapacities& from = capacities(source, queue);
  if (from.egress != core::no_id) {
    demands.push_back({from.egress, bytes});
    demands.push_back({capacities(destination, queue).ingress, bytes});
  } else {
    demands.push_back({from.to_peer[gpu_of(destination)], bytes});
  }
}

void Machine::add_store_path(Rank source, Rank peer, double per_work, std::vector<core::Demand>& demands,
                             StoreCost cost, std::uint32_t queue) const {
  const link::PortSpec& port = gpu().port;
  const double efficiency =
      cost.mover == Mover::dma ? port.copy_efficiency.value_or(port.payload_efficiency) : port.payload_efficiency;
  add_wires(source, peer, per_work * cost.link / efficiency, demands, queue);
  const double memory = per_work * gpu().hbm.write_cost * cost.memory;
  if (memory > 0) demands.push_back({capacities(peer, queue).hbm, memory});
}

void Machine::add_load_path(Rank reader, Rank peer, double per_work, std::vector<core::Demand>& demands,
                            std::uint32_t queue) const {
  add_wires(peer, reader, per_work / gpu().port.payload_efficiency, demands, queue);
  demands.push_back({capacities(peer, queue).hbm, per_work});
}

Time Machine::put(nic::Put put, Rank source, Rank destination, std::uint32_t queue) {
  MOIRE_INVARIANT(!networks_.empty(), "a put on a machine without a network");
  put.destination = endpoint_of(destination);
  const std::size_t of_queue = networks_.size() > 1 ? queue * topology_->endpoints() : 0;
  return nics_[of_queue + endpoint_of(source)]->post(put);
}

void Machine::run() {
  auto* flows = dynamic_cast<core::flow::FlowNetwork*>(network());
  if (flows != nullptr) {
    core::flow::run_with_simgrid(loop_, *flows);
  } else {
    loop_.run();
  }
}

}  // namespace moire::machine
