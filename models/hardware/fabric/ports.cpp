#include <fmt/format.h>

#include "models/hardware/fabric/topologies.hpp"

namespace moire::fabric {

std::uint64_t hash_of(std::uint64_t pair, std::uint32_t flow, std::int64_t seed) {
  std::uint64_t x =
      pair + (flow + 1) * 0x9e3779b97f4a7c15ULL + static_cast<std::uint64_t>(seed) * 0xd1342543de82ef95ULL;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
  return x ^ x >> 31;
}

Ports::Ports(std::uint32_t endpoints, const nic::NicSpec& nic, Time out_latency, Time in_latency,
             std::optional<ReductionSpec> reduction)
    : endpoints_(endpoints), reduction_(reduction) {
  for (std::uint32_t endpoint = 0; endpoint < endpoints; ++endpoint) {
    add_link(fmt::format("nic{}.out", endpoint), nic.payload_bandwidth(), nic.latency + out_latency);
    add_link(fmt::format("nic{}.in", endpoint), nic.payload_bandwidth(), nic.latency + in_latency);
  }
}

void Ports::slow_down(const part::Uneven& uneven) {
  for (core::LinkId link = 0; link < links_.size(); ++link) {
    const bool port = link < 2 * endpoints_;
    const double share = port ? part::Uneven::share(uneven.nic, link / 2) : part::Uneven::share(uneven.link, link);
    links_[link].bandwidth = links_[link].bandwidth * share;
  }
}

core::LinkId Ports::add_link(std::string name, BytesPerSecond bandwidth, Time latency) {
  links_.push_back({std::move(name), bandwidth, latency});
  return static_cast<core::LinkId>(links_.size() - 1);
}

}  // namespace moire::fabric
