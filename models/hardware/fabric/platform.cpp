#include "sim/core/simgrid/platform.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "models/hardware/fabric/topologies.hpp"
#include "sim/config/file.hpp"

namespace moire::fabric {

namespace {

constexpr std::uintmax_t most_bytes = 64 << 20;
constexpr double least_rate = 1, most_rate = 1e18;          // B/s
constexpr Time most_latency = Time{1'000'000'000'000'000};  // 1000 s

// A fabric whose links between the ports of the NICs come from a SimGrid platform file.
class PlatformRoutes final : public Ports {
 public:
  PlatformRoutes(core::flow::Platform platform, const nic::NicSpec& nic)
      : Ports(static_cast<std::uint32_t>(platform.hosts.size()), nic, Time{}, Time{}), platform_(std::move(platform)) {
    first_ = static_cast<core::LinkId>(links().size());
    for (const core::NetworkLink& link : platform_.links)
      add_link("platform." + link.name, link.bandwidth * nic.payload_efficiency, link.latency);
    platform_.links.clear();
  }

  void route(core::EndpointId source, core::EndpointId destination, std::uint32_t,
             std::vector<core::LinkId>& path) const override {
    const std::size_t pair = std::size_t{source} * endpoints() + destination;
    path.push_back(out(source));
    for (std::size_t at = platform_.route_of[pair]; at < platform_.route_of[pair + 1]; ++at)
      path.push_back(first_ + platform_.routes[at]);
    path.push_back(in(destination));
  }

 private:
  core::EndpointId home_of(core::LinkId) const override { return 0; }

  core::flow::Platform platform_;
  core::LinkId first_ = 0;
};

// Returns an error message about the first link whose rate or latency is outside the ranges that the specs of other
// fabrics allow. Returns nothing if all links are inside.
std::optional<config::Problem> odd_link(const core::flow::Platform& platform) {
  for (const core::NetworkLink& link : platform.links) {
    if (link.bandwidth.value >= least_rate && link.bandwidth.value <= most_rate && link.latency <= most_latency)
      continue;
    return config::Problem{
        fmt::format("link '{}' has {:.3g} B/s and a latency of {:.3g} s", link.name, link.bandwidth.value,
                    link.latency.seconds()),
        fmt::format("use {:.0g} to {:.0g} B/s, and {:.0f} s at most", least_rate, most_rate, most_latency.seconds())};
  }
  return std::nullopt;
}

}  // namespace

std::unique_ptr<Ports> make_platform(const PlatformSpec& spec, std::uint32_t endpoints, const nic::NicSpec& nic,
                                     config::Problem& error) {
  const std::string name = spec.file.string();
  config::Diagnostics unreadable;
  if (!config::read_plain({.file = spec.file, .remedy = "name a platform file of SimGrid"}, most_bytes, unreadable)) {
    error = {fmt::format("the platform '{}': {}", name, unreadable.sorted().front().what),
             "name a platform file of SimGrid (XML)"};
    return nullptr;
  }
  std::string problem;
  auto platform = core::flow::read_platform(name, problem);
  if (!platform) {
    error = {fmt::format("SimGrid cannot read the platform '{}': {}", name, problem), "correct the file"};
  } else if (platform->hosts.size() != endpoints) {
    error = {fmt::format("the platform '{}' has {} hosts, but the system has {} NICs", name, platform->hosts.size(),
                         endpoints),
             "set nodes and node.nics so that there is one NIC per host of the platform"};
  } else if (endpoints > core::flow::Platform::most_hosts) {
    error = {
        fmt::format("the platform has {} hosts", endpoints),
        fmt::format("use at most {}, because its routes are a table of all pairs", core::flow::Platform::most_hosts)};
  } else if (auto odd = odd_link(*platform)) {
    error = {fmt::format("the platform '{}': {}", name, odd->what), odd->remedy};
  } else {
    return std::make_unique<PlatformRoutes>(std::move(*platform), nic);
  }
  return nullptr;
}

}  // namespace moire::fabric
