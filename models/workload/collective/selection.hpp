// Which algorithm, protocol and how many channels a library takes.
#pragma once

#include <cstdint>
#include <optional>

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
  std::uint32_t channels = 1;  // at most
};

const libraries::ProtocolSpec* protocol_of(const libraries::ChannelsSpec& channels, Protocol protocol);

// Of the algorithms and protocols that the profile has expectations of, or of those asked for, the one that the library
// expects to end first. Then as many channels as have their smallest share.
Choice choose(const libraries::ChannelsSpec& channels, const machine::SystemSpec& system, const Question& question);

// Seconds that the library expects.
double expected(const libraries::ExpectationSpec& expectation, const machine::SystemSpec& system, Kind kind,
                Algorithm algorithm, double bytes);

}  // namespace moire::collective
