// Proves an algorithm or finds its faults: runs it by the runtime's rules, without time, for every number of chunks per
// call that changes its calls, in place and out of place as the file allows.
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
  std::optional<std::uint64_t> bytes;  // also judge this size of the whole buffer
  std::optional<Fifo> fifo;            // absent: the protocol's default
};

struct PatternVerdict {
  CallPattern pattern = CallPattern::out_of_place;
  proof::Result result;
  proof::Codings codings;
  proof::Races races;  // at the cut that has most
};

struct Counts {
  std::uint64_t steps = 0;
  std::uint64_t blocks = 0;
  std::size_t most_blocks = 0;  // of any GPU
  std::size_t most_steps = 0;   // of any thread block
  std::size_t connections = 0;
  std::map<std::string, std::uint64_t> types;  // number of steps of each type
};

struct Verdict {
  Fifo fifo;
  Counts counts;
  Deadlock deadlock;
  std::optional<std::uint64_t> bytes;
  bool hangs_at_bytes = false;           // at the size `bytes`
  std::vector<PatternVerdict> patterns;  // empty if it hangs at every size

  bool correct() const;
  std::uint64_t races() const;  // of the call pattern that has most
  bool coded_right() const;     // in every call pattern
  // True if the result is correct, encoded chunks are used as such, nothing races (in a collective that defines a
  // result), and it finishes at some sizes, including CheckOptions::bytes if given.
  bool accepted(const Algorithm& algorithm) const;
};

// The algorithm must keep the rules (rules.hpp), as those from read_xml do.
Verdict check(const Algorithm& algorithm, const CheckOptions& options = {});

// The same for the FIFOs of the library that runs it. A process computes this once for each algorithm and FIFO.
std::shared_ptr<const Verdict> proved(const Algorithm& algorithm, const Fifo& fifo);

// Reports faults as errors, one for each. Oddities (races in a collective that defines no result) become warnings.
void report(const Algorithm& algorithm, const Verdict& verdict, config::Diagnostics& diagnostics);

// A wait in words, and the whole cycle in words, shortened if it is long.
std::string describe(const Algorithm& algorithm, const Blocked& wait);
std::vector<std::string> describe(const Algorithm& algorithm, const Verdict& verdict, const Deadlock& deadlock);

}  // namespace moire::msccl
