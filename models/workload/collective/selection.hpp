// Which algorithm, protocol and how many channels a library takes.
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
  double bytes;  // of a rank's input; broadcast: of the buffer
  Algorithm algorithm = Algorithm::automatic;
  Protocol protocol = Protocol::automatic;
  std::optional<std::int64_t> channels{};  // at most
};

struct Choice {
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  std::uint32_t channels = 1;        // at most
  std::optional<double> expected{};  // seconds, where the library expects something of it
};

// Of a protocol as an algorithm uses it: chunk and slices.
libraries::ProtocolSpec fitted(libraries::ProtocolSpec protocol, const machine::SystemSpec& system,
                               const Choice& choice, double bytes);

const libraries::ProtocolSpec* protocol_of(const libraries::ChannelsSpec& channels, Protocol protocol);

// Of the algorithms and protocols that the profile has expectations of, or of those asked for, the one that the library
// expects to end first. Then as many channels as have their smallest share.
Choice choose(const libraries::ChannelsSpec& channels, const machine::SystemSpec& system, const Question& question);

// Of what was asked for, all that the machine can run, also with fewer channels as of slower NICs, with what the
// library expects.
std::vector<Choice> candidates(const libraries::ChannelsSpec& channels, const machine::SystemSpec& system,
                               const Question& question);

// Rings through the NICs of a node, and channels that a kernel has at most.
struct Rings {
  double rings = 0;
  std::int64_t channels = 0;
};
Rings rings_of(const libraries::ChannelsSpec& channels, const machine::SystemSpec& system);

// Do they leave a node through the NIC by which they enter it? The GPU that they leave then stores to the one that has
// it (PXN), and each ring passes the links of one GPU more.
bool by_one_nic(const libraries::LibrarySpec& library, const machine::SystemSpec& system);

// Seconds that the bytes take through ports and NICs, whoever moves them.
double least_time(const libraries::ProtocolSpec& protocol, const machine::SystemSpec& system, Kind kind,
                  Algorithm algorithm, double bytes);

// Seconds that the library expects.
double expected(const libraries::ExpectationSpec& expectation, const libraries::ChannelsSpec& channels,
                const machine::SystemSpec& system, Kind kind, Algorithm algorithm, double bytes);

}  // namespace moire::collective
