#include "models/hardware/link/stripes.hpp"

#include <algorithm>
#include <numeric>

namespace moire::link {

namespace {

std::int64_t stripe_of(const PortSpec& port) { return static_cast<std::int64_t>(port.stripe.value); }

}  // namespace

bool strides_evenly(const PortSpec& port, std::int64_t stride) {
  // Rows begin in the same places of every stripe if all stripes are a multiple of what two rows begin apart.
  return port.stripe_ways < 2 || stripe_of(port) % std::gcd(stride, stripe_of(port) * port.stripe_ways) == 0;
}

StripedBytes::StripedBytes(const PortSpec& port, std::int64_t stride)
    : port_(port),
      stride_(stride),
      turn_(stripe_of(port) * port.stripe_ways),
      groups_(static_cast<std::size_t>(std::max<std::int64_t>(1, port.stripe_ways))) {}

void StripedBytes::add(std::int64_t offset, std::int64_t run, double bytes) {
  if (strides_evenly(port_, stride_)) {
    for (double& group : groups_) group += bytes / static_cast<double>(groups_.size());
    return;
  }
  const std::int64_t stripe = stripe_of(port_);
  const std::int64_t rows = turn_ / std::gcd(stride_, turn_);  // then the rows begin in the same places again
  const double weight = bytes / static_cast<double>(rows * run);
  for (double& group : groups_) group += weight * static_cast<double>(rows * (run / turn_) * stripe);
  std::int64_t begin = offset % turn_;
  for (std::int64_t row = 0; row < rows; ++row, begin = (begin + stride_ % turn_) % turn_) {
    std::int64_t at = begin;
    for (std::int64_t left = run % turn_; left > 0;) {
      const std::int64_t piece = std::min(left, stripe - at % stripe);
      groups_[static_cast<std::size_t>(at / stripe)] += weight * static_cast<double>(piece);
      at = (at + piece) % turn_;
      left -= piece;
    }
  }
}

void StripedBytes::add(const StripedBytes& other, double times) {
  for (std::size_t group = 0; group < groups_.size(); ++group) groups_[group] += times * other.groups_[group];
}

double StripedBytes::bytes() const { return std::accumulate(groups_.begin(), groups_.end(), 0.0); }

double StripedBytes::time() const {
  const double busiest = *std::max_element(groups_.begin(), groups_.end());
  return bytes() + port_.stripe_cost * (busiest - bytes() / static_cast<double>(groups_.size()));
}

double strided_cost(const PortSpec& port, std::int64_t offset, std::int64_t run, std::int64_t stride) {
  if (strides_evenly(port, stride)) return 1;
  StripedBytes rows(port, stride);
  rows.add(offset, run, 1);
  return rows.time();
}

double packet_cost(const PortSpec& port, std::int64_t row, std::int64_t step) {
  const auto packet = static_cast<std::int64_t>(port.packet.value);
  const std::int64_t apart = std::gcd(step, packet), places = packet / apart;
  std::int64_t packets = 0;  // of one row at each place in a packet
  for (std::int64_t place = 0; place < places; ++place) packets += (place * apart + row + packet - 1) / packet;
  const double each = static_cast<double>(packets) / static_cast<double>(places);
  return (1 + port.header.value * each / static_cast<double>(row)) / (1 + port.header.value / port.packet.value);
}

}  // namespace moire::link
