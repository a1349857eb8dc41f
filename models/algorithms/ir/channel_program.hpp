// A collective as channels see it: each channel of each rank walks through a list of steps that move a chunk of data
// between the rank's memory and FIFOs from and to other ranks. Rings, trees and other algorithms, and files that state
// such lists, are channel programs; models/algorithms/proof proves those over FIFOs, models/workload/collective times
// all.
#pragma once

#include <vector>

#include "models/algorithms/ir/step.hpp"

namespace moire::ir {

class ChannelProgram {
 public:
  virtual ~ChannelProgram() = default;
  virtual std::uint32_t channels() const = 0;  // of each rank, at most
  virtual std::uint32_t channels_of(Rank /*rank*/) const { return channels(); }
  // Groups of a channel's threads that walk their own steps side by side.
  virtual std::uint32_t strands() const { return 1; }
  virtual std::uint32_t connections() const = 0;          // numbers in use
  virtual std::uint32_t semaphores() const { return 0; }  // numbers in use within a rank
  // The other end of a connection, for messages.
  virtual Rank sender(Rank rank, std::uint32_t connection) const = 0;
  virtual Rank receiver(Rank rank, std::uint32_t connection) const = 0;
  // Who raises a semaphore of the rank, for messages.
  virtual Rank raiser(Rank rank, std::uint32_t /*semaphore*/) const { return rank; }
  // Of one-sided steps.
  virtual std::vector<Move> moves() const { return {}; }
  // Fills `step` (reset to its default); false behind the last one. The same question has the same answer.
  virtual bool step(Rank rank, std::uint32_t channel, std::uint32_t strand, std::uint32_t number, Step& step) const = 0;
  // Does every rank do what the rank `by` before it does (the first ones what the last ones do), with all ranks that it
  // names `by` on?
  virtual bool turns(Rank /*by*/) const { return false; }
  // Where that step reads and writes. Time does not ask for it, proofs do.
  virtual Places places(Rank /*rank*/, std::uint32_t /*channel*/, std::uint32_t /*strand*/,
                        std::uint32_t /*number*/) const {
    return {};
  }
};

}  // namespace moire::ir
