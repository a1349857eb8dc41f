#include "models/hardware/link/links.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/config/units.hpp"
#include "sim/core/invariant.hpp"

namespace moire::link {

const part::Declaration& declaration() {
  static const part::Declaration declared{
      .name = "link",
      .traffic = {{"scale_up_bytes", "Payload that went through the GPUs' scale-up ports (NVLink, xGMI, PCIe)"}},
      .occupied = {{"scale_up_busy_percent",
                    "Time that the busiest scale-up port or link was in use, over the time of the run"}},
      .blame = {{.key = "links",
                 .lost = "link",
                 .meaning = "Time lost to sharing links, NICs and the network between nodes"}},
      .follows = {{"links_per_pair", "gpu.port.links", 1,
                   "the additional links connect the same GPUs; the number is rounded down"}}};
  return declared;
}

namespace {

bool by_link(const program::Operation& operation) {
  if (const auto* copy = std::get_if<program::Copy>(&operation)) {
    return copy->transfer(0).peer != 0 || !copy->beside.empty();
  }
  const auto* kernel = std::get_if<program::Kernel>(&operation);
  return kernel != nullptr && std::any_of(kernel->shapes.begin(), kernel->shapes.end(),
                                          [](const auto& shape) { return shape.peer_write + shape.peer_read > 0; });
}

}  // namespace

std::int64_t links_in_use(Wiring wiring, std::int64_t per_pair, std::int64_t gpus, const PortSpec& port) {
  if (gpus < 2 || wiring == Wiring::none) return 0;
  return wiring == Wiring::full_mesh ? per_pair * (gpus - 1) : port.links;
}

std::vector<part::Limit> limits(const PortSpec& port, std::int64_t in_use, BytesPerSecond memory, std::int64_t cus) {
  std::vector<part::Limit> all;
  if (in_use == 0) return all;
  if (in_use < port.links)
    all.push_back({"node.gpu.port.links", "node.links_per_pair", fmt::format("{} links in use", in_use)});
  const BytesPerSecond payload = port.link_bandwidth * (static_cast<double>(in_use) * port.payload_efficiency);
  const BytesPerSecond stores{port.store_window_per_cu.value / port.store_latency.seconds() * static_cast<double>(cus)};
  for (const char* key : {"node.gpu.port.links", "node.gpu.port.link_bandwidth"}) {
    if (memory < payload) all.push_back({key, "node.gpu.hbm.bandwidth", config::format_quantity(memory)});
    if (stores < payload)
      all.push_back(
          {key, "node.gpu.port.store_window_per_cu", config::format_quantity(stores) + " of stores over all CUs"});
  }
  return all;
}

bool shares(const program::Program& program, bool nics) { return nics || program.several_queues_have(by_link); }

Links::Links(part::Site& site, Wiring wiring, std::int64_t per_pair, const PortSpec& port)
    : site_(site), wiring_(wiring), per_pair_(per_pair), port_(port), apart_(site.apart().has("links")) {
  for (std::uint32_t copy = 0; copy < site.copies("links"); ++copy) {
    for (part::Rank rank = 0; rank < site.ranks(); ++rank) wire(rank, capacities_.emplace_back());
  }
}

core::CapacityId Links::add(part::Rank source, std::string name, double rate) {
  return links_.emplace_back(site_.add_capacity(source, {std::move(name), rate}));
}

void Links::wire(part::Rank rank, Capacities& own) {
  const part::Rank gpus = site_.reach().gpus_per_node();
  if (gpus < 2) return;
  const double link = port_.link_bandwidth.value;
  const std::vector<double>& slow = site_.uneven().port;
  switch (wiring_) {
    case Wiring::none:
      break;
    case Wiring::nvswitch:
    case Wiring::pcie: {
      const double whole = link * static_cast<double>(port_.links) * part::Uneven::share(slow, rank);
      own.egress = add(rank, fmt::format("rank {} port out", rank), whole);
      own.ingress = add(rank, fmt::format("rank {} port in", rank), whole);
      break;
    }
    case Wiring::full_mesh: {
      const double to_one = link * static_cast<double>(per_pair_);
      own.to_peer.assign(gpus, core::no_id);
      for (part::Rank peer = 0; peer < gpus; ++peer) {
        if (peer == site_.reach().gpu_of(rank)) continue;
        // A link is as fast as the slower one of the two ports that it connects.
        const part::Rank other = site_.reach().node_of(rank) * gpus + peer;
        const double share = std::min(part::Uneven::share(slow, rank), part::Uneven::share(slow, other));
        own.to_peer[peer] = add(rank, fmt::format("link {} to {}", rank, other), to_one * share);
      }
      break;
    }
  }
}

std::vector<double> Links::traffic(const part::Traffic& program) const {
  return {std::round(program.scale_up_bytes.value + (wiring_ == Wiring::pcie ? program.host_bytes.value : 0))};
}

std::vector<double> Links::occupied(Time end) const {
  const std::vector<double> served = site_.sharing().served();
  double most = 0;
  for (const core::CapacityId id : links_) {
    most = std::max(most, served[id] / (site_.sharing().capacity(id).rate * end.seconds()));
  }
  return {most};
}

double Links::carried(part::Rank rank) const {
  const std::vector<double> served = site_.sharing().served();
  double sum = 0;
  for (const core::CapacityId id : links_)
    if (site_.owner(id) == rank) sum += served[id];
  // In a mesh, a link belongs to the GPU at its source, so the incoming links are added here.
  const part::Rank own = site_.reach().gpu_of(rank);
  for (part::Rank other = 0; other < site_.ranks() && wiring_ == Wiring::full_mesh; ++other)
    if (other != rank && site_.reach().node_of(other) == site_.reach().node_of(rank))
      sum += served[capacities_[other].to_peer[own]];
  return sum;
}

std::vector<core::CapacityId> Links::wires(part::Rank rank) const {
  std::vector<core::CapacityId> all;
  const auto add = [&](core::CapacityId id) {
    if (id != core::no_id) all.push_back(id);
  };
  const part::Rank own = site_.reach().gpu_of(rank), first = rank - own;
  for (std::size_t copy = 0; copy < capacities_.size(); copy += site_.ranks()) {
    add(capacities_[copy + rank].egress);
    add(capacities_[copy + rank].ingress);
    const std::vector<core::CapacityId>& to_peer = capacities_[copy + rank].to_peer;
    for (std::size_t peer = 0; peer < to_peer.size(); ++peer) {
      add(to_peer[peer]);
      if (peer != own) add(capacities_[copy + first + peer].to_peer[own]);
    }
  }
  return all;
}

void Links::latency(const part::PhaseUse& use, part::Latency& latency) const {
  if (use.shape.peer_read == 0 && use.shape.read + use.shape.write > 0) return;
  latency.miss = use.shape.peer_read > 0 ? port_.load_latency.value_or(port_.store_latency * 2).seconds()
                                         : port_.store_latency.seconds();
}

void Links::add_wires(part::Rank source, part::Rank destination, std::uint32_t queue, double bytes,
                      core::ClassSpec& spec) const {
  MOIRE_INVARIANT(source != destination && site_.reach().stores(source, destination),
                  "a store or copy over scale-up links goes to its own GPU or to another node");
  const Capacities& from = of(source, queue);
  if (from.egress != core::no_id) {
    spec.demands.push_back({from.egress, bytes});
    spec.demands.push_back({of(destination, queue).ingress, bytes});
  } else {
    spec.demands.push_back({from.to_peer[site_.reach().gpu_of(destination)], bytes});
  }
}

// A multicast store takes the sender's port out once, and the port in of every GPU. A load of sums takes the port out
// of every GPU, and the reader's port in once.
void Links::use_switch(const part::PhaseUse& use, core::ClassSpec& spec) const {
  MOIRE_INVARIANT(port_.multicast_efficiency && of(use.rank, use.queue).egress != core::no_id,
                  "a phase needs a switch that copies and adds, but the node has none");
  const program::PhaseShape& shape = use.shape;
  const double stored = shape.peer_write / *port_.multicast_efficiency;
  const double summed = shape.peer_read / *port_.multicast_efficiency;
  const part::Reach& reach = site_.reach();
  const part::Rank first = reach.node_of(use.rank) * reach.gpus_per_node();
  for (part::Rank gpu = first; gpu < first + reach.gpus_per_node(); ++gpu) {
    const Capacities& port = of(gpu, use.queue);
    const bool own = gpu == use.rank;
    const double out = summed + (own ? stored : 0), in = stored + (own ? summed : 0);
    if (out > 0) spec.demands.push_back({port.egress, out});
    if (in > 0) spec.demands.push_back({port.ingress, in});
  }
}

void Links::use(const part::PhaseUse& use, core::ClassSpec& spec) const {
  const program::PhaseShape& shape = use.shape;
  if (shape.by_switch) use_switch(use, spec);
  if (shape.peer_write > 0) {
    // Stores are posted, so they have a window of their own beside the CU's bytes of loads in flight.
    const double window = port_.store_window_per_cu.value * use.cu_share;
    spec.bound = std::min(spec.bound, window / port_.store_latency.seconds() / shape.peer_write);
    if (!shape.by_switch)
      add_wires(use.rank, use.peer, use.queue, shape.peer_write * shape.peer_write_cost / port_.payload_efficiency,
                spec);
  }
  if (shape.peer_read > 0 && !shape.by_switch) {
    add_wires(use.peer, use.rank, use.queue, shape.peer_read / port_.payload_efficiency, spec);
  }
}

void Links::use(const part::CopyUse& use, core::ClassSpec& spec) const {
  if (use.within_gpu()) return;
  const double bytes = 1 / port_.copy_efficiency.value_or(port_.payload_efficiency);
  if (!use.by_host_memory()) return add_wires(use.rank, use.peer, use.queue, bytes, spec);
  const Capacities& own = of(use.rank, use.queue);
  if (wiring_ == Wiring::pcie && own.egress != core::no_id)
    spec.demands.push_back({use.way == program::Transfer::Way::to_host ? own.egress : own.ingress, bytes});
}

}  // namespace moire::link
