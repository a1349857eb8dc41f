// Computes which algorithm, which protocol and how many channels a library chooses.
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
  std::optional<std::int64_t> channels{};  // largest number of channels
};

struct Choice {
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  std::uint32_t channels = 1;        // largest number of channels
  std::optional<double> expected{};  // seconds; absent if the library's profile has no estimate
};

// Returns the protocol as the chosen algorithm uses it, for a rank's input of `bytes`. For trees, the chunk, slices and
// slots of the profile's `tree_chunk` replace those of the protocol.
libraries::ProtocolSpec fitted(libraries::ProtocolSpec protocol, const machine::SystemSpec& system,
                               const Choice& choice, double bytes);

const libraries::ProtocolSpec* protocol_of(const libraries::ChannelsSpec& channels, Protocol protocol);

// Returns the choice that the library expects to end first, among the algorithms and protocols that the question allows
// and for which the profile has an estimate. The choice has as many channels as can each get at least the protocol's
// smallest share.
Choice choose(const libraries::ChannelsSpec& channels, const machine::SystemSpec& system, const Question& question);

// Returns all choices that the question allows and the machine can run, with the library's estimates. The numbers of
// channels include those that the library takes with slower NICs, so that a faster NIC removes no choice.
std::vector<Choice> candidates(const libraries::ChannelsSpec& channels, const machine::SystemSpec& system,
                               const Question& question);

// The number of rings and the largest number of channels of a kernel. With several nodes, the NICs of a node determine
// the number of rings. With one node, or without the profile's `network`, there is one ring for each two channels.
struct Rings {
  double rings = 0;
  std::int64_t channels = 0;
};
Rings rings_of(const libraries::ChannelsSpec& channels, const machine::SystemSpec& system);

// True if rings leave a node through the NIC by which they enter it (PXN). The last GPU of a ring in the node then
// stores to the GPU that has this NIC, so each ring takes the links of one more GPU.
bool by_one_nic(const libraries::LibrarySpec& library, const machine::SystemSpec& system);

// Returns a lower bound of the collective's time in seconds: the time that its bytes take in the ports of GPUs (one
// node) or in the NICs (several nodes), without latencies.
double least_time(const libraries::ProtocolSpec& protocol, const machine::SystemSpec& system, Kind kind,
                  Algorithm algorithm, double bytes);

// Returns the time in seconds that the library's own cost model predicts.
double expected(const libraries::ExpectationSpec& expectation, const libraries::ChannelsSpec& channels,
                const machine::SystemSpec& system, Kind kind, Algorithm algorithm, double bytes);

}  // namespace moire::collective
