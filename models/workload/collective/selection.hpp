// Which algorithm, which protocol and how many channels a library chooses.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/hardware/machine/spec.hpp"
#include "models/workload/collective/kind.hpp"
#include "models/workload/libraries/collective_library.hpp"

namespace moire::collective {

struct Question {
  Kind kind;
  double bytes;  // input of a rank; for a broadcast, the buffer
  Algorithm algorithm = Algorithm::automatic;
  Protocol protocol = Protocol::automatic;
  std::optional<std::int64_t> channels{};  // upper limit
};

struct Choice {
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  std::uint32_t channels = 1;        // upper limit
  std::optional<double> expected{};  // seconds; absent if the profile has no estimate
};

// The protocol as the chosen algorithm uses it: trees have chunks, slices and slots of their own.
libraries::ProtocolSpec fitted(libraries::ProtocolSpec protocol, const machine::SystemSpec& system,
                               const Choice& choice, double bytes);

const libraries::ProtocolSpec* protocol_of(const libraries::ChannelsSpec& channels, Protocol protocol);

// The choice that the library expects to end first, among the algorithms and protocols that the question allows and for
// which the profile has an estimate. It has as many channels as still get the protocol's smallest share each.
Choice choose(const libraries::ChannelsSpec& channels, const machine::SystemSpec& system, const Question& question);

// All choices that the question allows and the machine can run, with the library's estimates. Channel counts include
// those that the library takes with slower NICs, so that a faster NIC removes no choice.
std::vector<Choice> candidates(const libraries::ChannelsSpec& channels, const machine::SystemSpec& system,
                               const Question& question);

// The number of rings through the NICs of a node, and the most channels that a kernel has.
struct Rings {
  double rings = 0;
  std::int64_t channels = 0;
};
Rings rings_of(const libraries::ChannelsSpec& channels, const machine::SystemSpec& system);

// True if rings leave a node through the NIC by which they enter it (PXN). The last GPU of a ring in the node then
// stores to the GPU that has this NIC, so each ring takes the links of one more GPU.
bool by_one_nic(const libraries::LibrarySpec& library, const machine::SystemSpec& system);

// Lower bound in seconds: the time that the bytes take through ports and NICs, whoever moves them.
double least_time(const libraries::ProtocolSpec& protocol, const machine::SystemSpec& system, Kind kind,
                  Algorithm algorithm, double bytes);

// The time that the library expects, in seconds.
double expected(const libraries::ExpectationSpec& expectation, const libraries::ChannelsSpec& channels,
                const machine::SystemSpec& system, Kind kind, Algorithm algorithm, double bytes);

}  // namespace moire::collective
