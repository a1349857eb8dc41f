// A channel program states a collective as a list of steps for each channel of each rank. Steps move chunks between the
// rank's memory and FIFOs to and from other ranks, or access the memory of other ranks directly. Rings, trees and
// algorithm files are channel programs. models/algorithms/proof proves the programs that use FIFOs.
// models/workload/collective simulates the time of all channel programs.
#pragma once

#include <vector>

#include "models/algorithms/ir/step.hpp"

namespace moire::ir {

class ChannelProgram {
 public:
  virtual ~ChannelProgram() = default;
  virtual std::uint32_t channels() const = 0;  // the largest number of channels of any rank
  virtual std::uint32_t channels_of(Rank /*rank*/) const { return channels(); }
  // Returns how many groups of a channel's threads (strands) run side by side. Each strand has a list of steps.
  virtual std::uint32_t strands() const { return 1; }
  virtual std::uint32_t connections() const = 0;          // all connection numbers are below this value
  virtual std::uint32_t semaphores() const { return 0; }  // all semaphore numbers of a rank are below this value
  // True if the channel sends or receives over a connection.
  virtual bool connected(Rank /*rank*/, std::uint32_t /*channel*/) const { return connections() > 0; }
  // Return the rank at the other end of a connection: sender() if `rank` receives over the connection, receiver() if
  // `rank` sends. Deadlock reports name this rank.
  virtual Rank sender(Rank rank, std::uint32_t connection) const = 0;
  virtual Rank receiver(Rank rank, std::uint32_t connection) const = 0;
  // Returns the rank that raises a semaphore of `rank`. Deadlock reports name the raiser.
  virtual Rank raiser(Rank rank, std::uint32_t /*semaphore*/) const { return rank; }
  // Returns the moves of the program. Step::move is an index into this list.
  virtual std::vector<Move> moves() const { return {}; }
  // Writes step `number` to `step`, which is reset first. Returns false if there is no such step, because `number` is
  // past the last one. Calls with the same arguments give the same answer.
  virtual bool step(Rank rank, std::uint32_t channel, std::uint32_t strand, std::uint32_t number, Step& step) const = 0;
  // True if the program is symmetric under a rotation of the ranks by `by`: rank r + by does what rank r does, and
  // every peer that it names is shifted by `by`, too (modulo the number of ranks).
  virtual bool turns(Rank /*by*/) const { return false; }
  // Returns where a step reads and writes. Only proofs call this function; the simulation of time does not need it.
  virtual Places places(Rank /*rank*/, std::uint32_t /*channel*/, std::uint32_t /*strand*/,
                        std::uint32_t /*number*/) const {
    return {};
  }
};

}  // namespace moire::ir
