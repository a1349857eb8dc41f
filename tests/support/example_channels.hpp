// Makes a collective library with round numbers for tests. A workgroup that is alone on a CU of the example GPU sends a
// slice of 102,400 B in 2.048 us, because the store window limits it to 50 B/ns. It copies such a slice in 1.024 us.
#pragma once

#include "models/workload/libraries/collective_library.hpp"

namespace moire::collective {

inline constexpr double example_chunk = 102400;

inline libraries::LibrarySpec example_channels(std::int64_t channels = 1) {
  libraries::LibrarySpec made;
  made.name = "example";
  made.max_channels = channels;
  made.threads = 64;
  made.registers_per_thread = 32;
  made.slots = 4;
  made.bytes_in_flight = {80e3};
  made.setup = Time::from_us(5);
  made.step_overhead = Time::from_us(1);
  made.node = {.channels_per_peer = 1, .slot = {example_chunk}, .smallest_share = {4096}, .largest_share = {1e9}};
  libraries::ChannelsSpec& own = made.channels.emplace();
  own.channels = channels;
  own.setup = Time::from_us(5);
  own.simple.threads = 64;
  own.simple.chunk = {example_chunk};
  own.simple.smallest_slice = {1};
  own.simple.cell = {16};
  own.simple.slots = 4;
  own.simple.bytes_in_flight = {80e3};
  own.simple.step_overhead = Time::from_us(1);
  own.simple.ring = {Time::from_us(10), Time::from_us(4), Time::from_us(14)};
  return made;
}

// Returns a protocol like LL, whose lines consist of data and flags: 64 threads store 8 B of data each.
inline libraries::ProtocolSpec example_lines() {
  libraries::ProtocolSpec made;
  made.threads = 64;
  made.chunk = {4096};
  made.smallest_slice = {4096};
  made.cell = {16};
  made.slots = 8;
  made.wire = 2;
  made.lines = true;
  made.bytes_in_flight = {512};
  made.step_overhead = Time::from_ns(100);
  made.ring = {Time::from_us(5), Time::from_us(1), Time::from_us(3)};
  made.ring->at_most = BytesPerSecond{50e9};
  return made;
}

}  // namespace moire::collective
