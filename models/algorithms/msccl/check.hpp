// Proves an algorithm, or says what is wrong with it: runs it in the runtime's meaning, without time, for every size at
// which it makes other calls, in place and out of place as the file allows.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/algorithms/msccl/deadlock.hpp"
#include "models/algorithms/msccl/lower.hpp"
#include "models/algorithms/proof/races.hpp"
#include "models/algorithms/proof/result.hpp"
#include "sim/config/diagnostics.hpp"

namespace moire::msccl {

struct CheckOptions {
  std::optional<std::uint64_t> bytes;  // judge this size of the whole buffer, too
  std::optional<Fifo> fifo;            // the protocol's default otherwise
};

struct PatternVerdict {
  CallPattern pattern = CallPattern::out_of_place;
  proof::Result result;
  proof::Races races;  // at the cut with most of them
};

struct Counts {
  std::uint64_t steps = 0;
  std::uint64_t blocks = 0;
  std::size_t most_blocks = 0;  // of a GPU
  std::size_t most_steps = 0;   // of a thread block
  std::size_t connections = 0;
  std::map<std::string, std::uint64_t> types;  // steps of each type
};

struct Verdict {
  Fifo fifo;
  Counts counts;
  Deadlock deadlock;
  std::optional<std::uint64_t> bytes;
  bool hangs_at_bytes = false;           // at the size asked for
  std::vector<PatternVerdict> patterns;  // empty where it always hangs

  bool correct() const;
  std::uint64_t races() const;  // of the pattern with most
  // Correct, without races where the collective states a result, and with sizes at which it ends, among them the one
  // asked for.
  bool accepted(const Algorithm& algorithm) const;
};

// The algorithm keeps the rules (rules.hpp), as one from read_xml does.
Verdict check(const Algorithm& algorithm, const CheckOptions& options = {});

// The same for the FIFOs of the library that runs it, made once for each content and FIFO in a process.
std::shared_ptr<const Verdict> proved(const Algorithm& algorithm, const Fifo& fifo);

// What is wrong as errors, one a fault; what is odd (races of a collective that states no result) as warnings.
void report(const Algorithm& algorithm, const Verdict& verdict, config::Diagnostics& diagnostics);

// One wait in words, and the whole cycle, cut where it is long.
std::string describe(const Algorithm& algorithm, const Blocked& wait);
std::vector<std::string> describe(const Algorithm& algorithm, const Verdict& verdict, const Deadlock& deadlock);

}  // namespace moire::msccl
