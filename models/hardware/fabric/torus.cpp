#include <fmt/format.h>

#include <algorithm>

#include "models/hardware/fabric/topologies.hpp"

namespace moire::fabric {

namespace {

std::uint32_t product(const std::vector<std::int64_t>& dimensions) {
  std::int64_t points = 1;
  for (const std::int64_t size : dimensions) points *= size;
  return static_cast<std::uint32_t>(points);
}

}  // namespace

Torus::Torus(const TorusSpec& spec, std::uint32_t nics_per_node, const nic::NicSpec& nic)
    : Ports(product(spec.dimensions) * nics_per_node, nic, Time{}, Time{}),
      size_(spec.dimensions.begin(), spec.dimensions.end()),
      nics_per_node_(nics_per_node) {
  first_hop_ = static_cast<core::LinkId>(links().size());
  const BytesPerSecond bandwidth = spec.link.bandwidth * nic.payload_efficiency;
  for (std::uint32_t node = 0; node < product(spec.dimensions); ++node) {
    for (std::size_t dimension = 0; dimension < size_.size(); ++dimension) {
      for (const char direction : {'+', '-'}) {
        add_link(fmt::format("node{}.d{}{}", node, dimension, direction), bandwidth, spec.link.latency);
      }
    }
  }
}

// Routes one dimension after the other, the shorter way round each ring. If the destination is half a ring away, both
// ways are equally long. Then the parity of the sum of the source's coordinates and the destination's coordinates in
// the other dimensions picks the direction. So uniform traffic loads all links of a dimension equally.
void Torus::route(core::EndpointId source, core::EndpointId destination, std::uint32_t,
                  std::vector<core::LinkId>& path) const {
  const std::uint32_t target = destination / nics_per_node_;
  std::uint32_t node = source / nics_per_node_;
  const auto coordinate = [this](std::uint32_t point, std::size_t dimension) {
    for (std::size_t before = 0; before < dimension; ++before) point /= size_[before];
    return point % size_[dimension];
  };
  std::uint32_t parity = 0;
  for (std::size_t dimension = 0; dimension < size_.size(); ++dimension) {
    parity += coordinate(node, dimension) + coordinate(target, dimension);
  }
  path.push_back(out(source));
  const auto dimensions = static_cast<std::uint32_t>(size_.size());
  std::uint32_t stride = 1;
  for (std::uint32_t dimension = 0; dimension < dimensions; ++dimension) {
    const std::uint32_t size = size_[dimension];
    std::uint32_t at = node / stride % size;
    const std::uint32_t to = target / stride % size;
    const std::uint32_t ahead = (to + size - at) % size;
    const bool tie = 2 * ahead == size;
    const bool plus = tie ? (parity - to) % 2 == 0 : 2 * ahead < size;
    for (std::uint32_t left = plus ? ahead : size - ahead; left > 0 && ahead > 0; --left) {
      path.push_back(first_hop_ + 2 * (node * dimensions + dimension) + (plus ? 0 : 1));
      const std::uint32_t next = (at + (plus ? 1 : size - 1)) % size;
      node = node - at * stride + next * stride;
      at = next;
    }
    stride *= size;
  }
  path.push_back(in(destination));
}

// If both ways round a ring are equally long, the parity of coordinates picks one of them. So a shift must not change
// the parity.
bool Torus::turns(core::EndpointId by) const {
  const core::EndpointId plane = endpoints() / size_.back();
  if (by % plane != 0) return false;
  if (size_.back() % 2 == 0) return by / plane % 2 == 0;
  return std::all_of(size_.begin(), size_.end(), [](std::uint32_t size) { return size % 2 == 1; });
}

core::EndpointId Torus::home_of(core::LinkId link) const {
  return (link - first_hop_) / (2 * static_cast<std::uint32_t>(size_.size())) * nics_per_node_;
}

core::LinkId Torus::other_turned(core::LinkId link, core::EndpointId by) const {
  const auto of_node = 2 * static_cast<std::uint32_t>(size_.size());
  const core::LinkId all = endpoints() / nics_per_node_ * of_node;
  return first_hop_ + (link - first_hop_ + by / nics_per_node_ * of_node) % all;
}

}  // namespace moire::fabric
