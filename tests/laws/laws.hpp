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
  std::string why{};     // what is wrong, with numbers
  std::vector<Scenario> runs{};
  double beyond = 0;  // reordered only: the share of the run's time by which the case misses the law
};
inline Verdict reordered(Verdict missed, double beyond) {
  missed.found = Found::reordered;
  missed.beyond = beyond;
  return missed;
}

// Limits of the cost of a case.
struct Cost {
  std::int64_t most_ranks = 64;  // in strict cases; few cases have more than few_ranks
  std::size_t most_spans = 60'000;
};

struct Law {
  const char* name;
  const char* meaning;
  int share;  // weight of the law among all cases
  Draw draw;
  bool (*applies)(const std::string& op);
  Verdict (*check)(const Case& one, Random random, const Cost& cost);
};

const std::vector<Law>& all_laws();

// True if ranks, or kernels and host threads, wait for each other in this operator.
bool moves_bytes(const std::string& op);

// Verdict of a case whose simulation did not run to its end.
Verdict not_run(const Case& one, const Outcome& outcome, const Scenario& scenario);

}  // namespace moire::laws
