// Proves a plan, or says what is wrong with it: the runtime's limits, then a run in the runtime's meaning, without
// time, at every cut of its chunks at which it may behave differently.
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
  bool judged = false;         // it was run
  bool states_result = false;  // its collective does
  std::vector<Fault> faults;
  std::size_t more = 0;          // faults beyond those
  std::uint64_t operations = 0;  // run, of all cuts

  bool has(Fault::Kind kind) const;
};

// Errors of rules and limits go to `diagnostics`; a plan that breaks a rule is not run.
Verdict check(const Plan& plan, config::Diagnostics& diagnostics);

// Its faults as errors.
void report(const Plan& plan, const Verdict& verdict, config::Diagnostics& diagnostics);

// What check() and report() say of the plan that was read from `text`, made once for each text in a process.
std::shared_ptr<const config::Diagnostics> proved(const Plan& plan, const std::string& text);

// Reads, checks and reports a file's text. What is right with it, for people: "MSCCL++ plan, allreduce, 8 GPUs, ...".
std::string check_plan_text(const std::string& name, const std::string& text, config::Diagnostics& diagnostics);

}  // namespace moire::mscclpp
