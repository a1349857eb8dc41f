// How evenly stores use the links of a port. Consecutive stripes of a peer's addresses belong to groups of links in
// turn, so rows whose distance is a multiple of all stripes of one turn meet the same group again and again.
#pragma once

#include <cstdint>
#include <vector>

#include "models/hardware/link/spec.hpp"

namespace moire::link {

// Bytes of rows that are stored `stride` bytes apart, counted by group of links.
class StripedBytes {
 public:
  StripedBytes(const PortSpec& port, std::int64_t stride);
  // Adds `bytes` bytes of rows of `run` bytes each. The first row begins `offset` bytes behind the beginning of a turn.
  void add(std::int64_t offset, std::int64_t run, double bytes);
  void add(const StripedBytes& other, double times);
  double bytes() const;  // sum over all groups
  // Returns the link time of these bytes, in link times of contiguous bytes. A byte takes 1 + stripe_cost x (share of
  // the bytes in the busiest group - 1 / stripe_ways). Measured with the benchmark peer_stride.
  double time() const;

 private:
  const PortSpec& port_;
  std::int64_t stride_;
  std::int64_t turn_;           // bytes after which the first group is used again
  std::vector<double> groups_;  // bytes
};

// Returns the link time of a byte of such rows, relative to contiguous bytes.
double strided_cost(const PortSpec& port, std::int64_t offset, std::int64_t run, std::int64_t stride);
// Returns the link time of a byte of rows of `row` bytes that are stored apart from each other, relative to contiguous
// bytes. The rows begin at multiples of `step` bytes, so some of them may need a packet more than others.
double packet_cost(const PortSpec& port, std::int64_t row, std::int64_t step);
// Returns whether rows with this stride use all groups alike, whatever their length.
bool strides_evenly(const PortSpec& port, std::int64_t stride);

}  // namespace moire::link
