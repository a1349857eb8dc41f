// What must hold for every machine and every program. Each law draws a case of its own and says whether it is kept.
#pragma once

#include <string>
#include <vector>

#include "tests/laws/workload.hpp"

namespace moire::laws {

enum class Found { kept, refused, cut, incomparable, broken };
inline constexpr const char* found_names[] = {"kept", "refused", "cut", "not comparable", "broken"};

struct Verdict {
  Found found = Found::kept;
  std::string detail{};  // of what kind the case is: the parameter that was changed
  std::string why{};     // what was found
  std::vector<Scenario> runs{};
};

// How much a case may cost.
struct Cost {
  std::int64_t most_ranks = 16;  // of laws of time
  std::size_t most_spans = 60'000;
};

struct Law {
  const char* name;
  const char* meaning;
  Draw draw;
  bool (*applies)(const std::string& op);
  Verdict (*check)(const Case& one, Random random, const Cost& cost);
};

const std::vector<Law>& all_laws();

// Simulations round times to picoseconds, once an event, and the sharing law is solved to 1e-9: what two runs may differ
// by without a reason, in picoseconds.
double rounding(const Outcome& a, const Outcome& b);

}  // namespace moire::laws
