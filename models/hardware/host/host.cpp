#include "models/hardware/host/host.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace moire::host {

const part::Declaration& declaration() {
  static const part::Declaration declared{
      .name = "host",
      .traffic = {{"host_memory_bytes",
                   "If there are any: bytes that were copied into the memory of hosts and out of it, both added"}},
      .occupied =
          {{"host_memory_busy_percent",
            "In such a run: time that the busiest memory of a host, or slot of a GPU, was in use, over the time "
            "of the run"}},
      .blame = {{.key = "host",
                 .lost = "launch",
                 .meaning = "Time lost to the host, which enqueues operations of other queues first; with "
                            "program.order: serial, to the queues that run before"}}};
  return declared;
}

Host::Host(part::Site& site, const std::optional<MemorySpec>& memory) : site_(site), spec_(memory) {
  if (!spec_) return;
  const part::Rank gpus = site.reach().gpus_per_node();
  for (std::uint32_t copy = 0; copy < site.copies("links"); ++copy) {
    for (part::Rank rank = 0; rank < site.ranks(); ++rank) {
      const auto add = [&](std::string name, BytesPerSecond rate) {
        return capacities_.emplace_back(site.add_capacity(rank, {std::move(name), rate.value}));
      };
      if (rank % gpus == 0) {
        const part::Rank node = rank / gpus;
        memories_.push_back({add(fmt::format("host {} writes", node), spec_->write),
                             add(fmt::format("host {} reads", node), spec_->read),
                             add(fmt::format("host {} memory", node), spec_->bandwidth)});
      }
      slots_.push_back({add(fmt::format("rank {} slot out", rank), spec_->slot_out),
                        add(fmt::format("rank {} slot in", rank), spec_->slot_in),
                        add(fmt::format("rank {} slot", rank), spec_->slot)});
    }
  }
}

std::vector<double> Host::traffic(const part::Traffic& program) const {
  if (program.host_bytes.value == 0) return {};
  return {std::round(program.host_bytes.value)};
}

std::vector<double> Host::occupied(Time end) const {
  const std::vector<double> served = site_.sharing().served();
  double most = 0;
  for (const core::CapacityId id : capacities_)
    most = std::max(most, served[id] / (site_.sharing().capacity(id).rate * end.seconds()));
  if (most == 0) return {};
  return {most};
}

void Host::use(const part::CopyUse& use, core::ClassSpec& spec) const {
  if (!use.by_host_memory() || !spec_) return;
  const std::size_t own = site_.apart().has("links") ? use.queue : 0;
  const part::Rank gpus = site_.reach().gpus_per_node();
  const Slot& slot = slots_[own * site_.ranks() + use.rank];
  const Memory& memory = memories_[own * (site_.ranks() / gpus) + use.rank / gpus];
  const bool out = use.way == program::Transfer::Way::to_host;
  const double footprint = use.host_footprint.value;
  const double missed = footprint > 0 ? std::max(0.0, 1 - spec_->cache.value / footprint) : 1;
  const auto demand = [&spec](core::CapacityId capacity, double bytes) {
    if (bytes > 0) spec.demands.push_back({capacity, bytes});
  };
  demand(out ? slot.out : slot.in, 1);
  demand(slot.both, 1);
  demand(out ? memory.write : memory.read, out ? missed : 1);
  demand(memory.both, missed);
  if (!out) spec.weight *= spec_->read_share;
}

}  // namespace moire::host
