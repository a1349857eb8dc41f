// Proves a plan or finds its faults. The checker first checks the runtime's limits. Then it runs the plan by the
// runtime's rules, without time, for every way to cut chunks into slices with which the plan may behave differently.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/algorithms/mscclpp/execution.hpp"
#include "models/algorithms/mscclpp/plan.hpp"
#include "sim/config/diagnostics.hpp"

namespace moire::mscclpp {

struct Verdict {
  bool judged = false;         // the plan was run
  bool states_result = false;  // its collective defines a result
  std::vector<Fault> faults;
  std::size_t more = 0;          // number of faults that are not listed
  std::uint64_t operations = 0;  // operations run, over all ways to cut chunks into slices

  bool has(Fault::Kind kind) const;
};

// Returns the verdict on a plan. Reports broken rules and limits to `diagnostics`. A plan that breaks a rule is not
// run.
Verdict check(const Plan& plan, config::Diagnostics& diagnostics);

// Reports the faults of a verdict as errors.
void report(const Plan& plan, const Verdict& verdict, config::Diagnostics& diagnostics);

// Returns the findings of check() and report() for the plan that was read from `text`. A process computes them once for
// each text.
std::shared_ptr<const config::Diagnostics> proved(const Plan& plan, const std::string& text);

// Reads and checks a file's text and reports its errors. For a correct plan, returns a summary: "MSCCL++ plan,
// allreduce, 8 GPUs, ...".
std::string check_plan_text(const std::string& name, const std::string& text, config::Diagnostics& diagnostics);

}  // namespace moire::mscclpp
