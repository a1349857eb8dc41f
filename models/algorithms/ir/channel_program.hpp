// A collective as its channels run it: each channel of each rank walks through a list of steps that move chunks between
// the rank's memory and FIFOs to and from other ranks. Rings, trees and algorithm files are channel programs.
// models/algorithms/proof proves the programs that use FIFOs; models/workload/collective simulates the time of all of
// them.
#pragma once

#include <vector>

#include "models/algorithms/ir/step.hpp"

namespace moire::ir {

class ChannelProgram {
 public:
  virtual ~ChannelProgram() = default;
  virtual std::uint32_t channels() const = 0;  // the most that any rank has
  virtual std::uint32_t channels_of(Rank /*rank*/) const { return channels(); }
  // Groups of a channel's threads that run side by side, each with a list of steps of its own.
  virtual std::uint32_t strands() const { return 1; }
  virtual std::uint32_t connections() const = 0;          // connection numbers are below this
  virtual std::uint32_t semaphores() const { return 0; }  // semaphore numbers of a rank are below this
  // The other end of a connection; only messages use it.
  virtual Rank sender(Rank rank, std::uint32_t connection) const = 0;
  virtual Rank receiver(Rank rank, std::uint32_t connection) const = 0;
  // The rank that raises a semaphore of this rank; only messages use it.
  virtual Rank raiser(Rank rank, std::uint32_t /*semaphore*/) const { return rank; }
  // The moves that one-sided steps refer to by index.
  virtual std::vector<Move> moves() const { return {}; }
  // Writes step `number` to `step`, which is reset first; returns false behind the last step. Repeated calls give the
  // same answer.
  virtual bool step(Rank rank, std::uint32_t channel, std::uint32_t strand, std::uint32_t number, Step& step) const = 0;
  // True if the program is symmetric under a rotation of the ranks by `by`: rank r + by does what rank r does, and
  // every peer that it names is shifted by `by`, too (modulo the number of ranks).
  virtual bool turns(Rank /*by*/) const { return false; }
  // Where a step reads and writes. Only proofs call this; timing does not need it.
  virtual Places places(Rank /*rank*/, std::uint32_t /*channel*/, std::uint32_t /*strand*/,
                        std::uint32_t /*number*/) const {
    return {};
  }
};

}  // namespace moire::ir
