// Laws that must hold for every machine and every program. Each law checks generated cases and returns a verdict.
#pragma once

#include <string>
#include <vector>

#include "tests/laws/tolerances.hpp"

namespace moire::laws {

enum class Found { kept, reordered, refused, cut, incomparable, broken };
inline constexpr const char* found_names[] = {"kept", "reordered", "refused", "cut", "not comparable", "broken"};
inline constexpr std::size_t kinds_found = std::size(found_names);

struct Verdict {
  Found found = Found::kept;
  std::string detail{};  // kind of the case, such as the parameter that was changed
  std::string why{};     // what is wrong, with the times or amounts that show it
  std::vector<Scenario> runs{};
  // For `reordered`, a case that misses the law by no more than a tolerance: the difference as a share of the run's
  // time.
  double beyond = 0;
};
inline Verdict reordered(Verdict missed, double beyond) {
  missed.found = Found::reordered;
  missed.beyond = beyond;
  return missed;
}

// Limits of a case, so that its simulations do not take too long.
struct Cost {
  std::int64_t most_ranks = 64;     // ranks of a strict case; seven of eight cases have at most few_ranks
  std::size_t most_spans = 60'000;  // steps of workgroups, queues, copies and puts, after which a run is cut
};

struct Law {
  const char* name;
  const char* meaning;
  int share;  // how often cases of this law are drawn, relative to the other laws
  Draw draw;
  bool (*applies)(const std::string& op);
  Verdict (*check)(const Case& one, Random random, const Cost& cost);
};

const std::vector<Law>& all_laws();

// True if in this operator ranks wait for each other, or kernels and host threads do.
bool moves_bytes(const std::string& op);

// Returns the verdict on a case whose simulation did not run to its end.
Verdict not_run(const Case& one, const Outcome& outcome, const Scenario& scenario);

}  // namespace moire::laws
