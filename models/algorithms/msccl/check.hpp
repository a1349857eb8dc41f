// Proves an algorithm or finds its faults. The checker runs the algorithm by the runtime's rules, without time. It
// repeats the run for every number of chunks per call that changes how many calls some step makes, and in place, out of
// place, or both, as the file allows. If this takes too many calls, some of these numbers are left out.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/algorithms/msccl/deadlock.hpp"
#include "models/algorithms/msccl/lower.hpp"
#include "models/algorithms/proof/codings.hpp"
#include "models/algorithms/proof/races.hpp"
#include "models/algorithms/proof/result.hpp"
#include "sim/config/diagnostics.hpp"

namespace moire::msccl {

struct CheckOptions {
  std::optional<std::uint64_t> bytes;  // a size of the whole buffer at which the algorithm must finish, too
  std::optional<Fifo> fifo;            // absent: default_fifo() of the protocol
};

struct PatternVerdict {
  CallPattern pattern = CallPattern::out_of_place;
  proof::Result result;
  proof::Codings codings;
  proof::Races races;  // at the number of chunks per call that has most races
};

struct Counts {
  std::uint64_t steps = 0;
  std::uint64_t blocks = 0;
  std::size_t most_blocks = 0;  // of the GPU that has most
  std::size_t most_steps = 0;   // of the thread block that has most
  std::size_t connections = 0;
  std::map<std::string, std::uint64_t> types;  // number of steps of each type
};

struct Verdict {
  Fifo fifo;
  Counts counts;
  Deadlock deadlock;
  std::optional<std::uint64_t> bytes;
  bool hangs_at_bytes = false;           // true: the algorithm hangs at the size `bytes`
  std::vector<PatternVerdict> patterns;  // empty if the algorithm hangs at every size

  bool correct() const;
  std::uint64_t races() const;  // returns the races of the call pattern that has most
  bool coded_right() const;     // true if encoded chunks are used correctly in every call pattern
  // True if the result is correct, encoded chunks are used correctly, and the algorithm finishes at some sizes, which
  // include CheckOptions::bytes if given. If the collective defines a result, there must also be no races and no reads
  // of memory that was never written.
  bool accepted(const Algorithm& algorithm) const;
};

// Proves the algorithm. It must keep the rules (rules.hpp), as all algorithms from read_xml() do.
Verdict check(const Algorithm& algorithm, const CheckOptions& options = {});

// Returns the verdict for the FIFOs of the library that runs the algorithm. A process computes the verdict only once
// for each algorithm and FIFO.
std::shared_ptr<const Verdict> proved(const Algorithm& algorithm, const Fifo& fifo);

// Reports each fault as an error. If the collective defines no result, races and reads of unwritten memory become
// warnings.
void report(const Algorithm& algorithm, const Verdict& verdict, config::Diagnostics& diagnostics);

// Describe one wait, and the waits of a deadlock's cycle, in words. A long cycle is shortened.
std::string describe(const Algorithm& algorithm, const Blocked& wait);
std::vector<std::string> describe(const Algorithm& algorithm, const Verdict& verdict, const Deadlock& deadlock);

}  // namespace moire::msccl
